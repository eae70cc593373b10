import AppDefinition
import Archives
import ChildProcesses
import DocumentModel
import Glibc

/// The packages of an app: `functions/node_modules`, or an archive of it.
enum PackageFolder {
    /// The largest archive of packages, in bytes.
    private static let archiveLimit = 64 << 20
    private static let limits = ArchiveReader.Limits(
        entries: 10 * PackageCollector.countLimit, fileBytes: archiveLimit, totalBytes: 2 * archiveLimit,
        unpackedBytes: 1 << 30)
    private static let places = [PackageCollector.folder] + PackageCollector.archives

    /// The packages in an app's folder.
    /// - Throws: `AppDefinitionError`, `ToolError`; `UsageError` when there are several places with packages.
    static func packages(of directory: String) throws -> AppPackages {
        guard let place = try onlyPlace({ access("\(directory)/\($0)", F_OK) == 0 }) else { return .none }
        guard place != PackageCollector.folder else { return try AppPackages.read(folder: directory) }
        do {
            return try collected(
                ArchiveReader(limits: limits).files(at: "\(directory)/\(place)") {
                    PackageCollector.modulePath($0) != nil
                })
        } catch let error as ArchiveError {
            throw ToolError("\(directory)/\(place): \(error.message)")
        }
    }

    /// The packages in an archive of an app.
    /// - Parameter root: the app's folder in it.
    /// - Throws: as `packages(of:)`, and `ArchiveError`.
    static func packages(ofArchive bytes: [UInt8], root: String) throws -> AppPackages {
        func inside(_ path: String) -> String? { AppFiles.path(path, inside: root) }
        func modulePath(_ path: String) -> String? {
            guard let path = inside(path), path.startsWithBytes(of: PackageCollector.folder + "/") else { return nil }
            return PackageCollector.modulePath(
                String(decoding: path.utf8.dropFirst(PackageCollector.folder.utf8.count + 1), as: UTF8.self))
        }
        let found = try ArchiveReader(limits: limits).files(of: bytes) { path in
            inside(path).map(PackageCollector.archives.containsExactly) == true || modulePath(path) != nil
        }
        let archive = found.first { modulePath($0.path) == nil }
        guard
            let place = try onlyPlace({ place in
                found.contains { file in
                    place == PackageCollector.folder
                        ? modulePath(file.path) != nil : inside(file.path)?.hasSameBytes(as: place) == true
                }
            })
        else { return .none }
        guard place != PackageCollector.folder, let archive else {
            var collector = PackageCollector()
            for file in found { if let path = modulePath(file.path) { try collector.add(path, file.bytes) } }
            return collector.packages
        }
        return try collected(
            ArchiveReader(limits: limits).files(of: archive.bytes) { PackageCollector.modulePath($0) != nil })
    }

    private static func onlyPlace(_ exists: (String) -> Bool) throws -> String? {
        let found = places.filter(exists)
        guard found.count <= 1 else {
            throw UsageError("there are packages in \(found.joined(separator: " and in ")): remove all but one")
        }
        return found.first
    }

    private static func collected(_ files: [ArchiveReader.File]) throws -> AppPackages {
        var collector = PackageCollector()
        for file in files {
            if let path = PackageCollector.modulePath(file.path) { try collector.add(path, file.bytes) }
        }
        return collector.packages
    }
}

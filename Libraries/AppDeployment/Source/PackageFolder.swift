import AppDefinition
import Archives
import DocumentModel
import Glibc

/// The packages of an app: `functions/node_modules`, or an archive of it.
enum PackageFolder {
    private static let limits = ArchiveReader.Limits(
        entries: 10 * PackageCollector.countLimit, fileBytes: AppSource.archiveLimit,
        totalBytes: 2 * AppSource.archiveLimit, unpackedBytes: 1 << 30)
    private static let places = [PackageCollector.folder] + PackageCollector.archives

    /// Adds the packages in an app's folder.
    /// - Throws: `AppDefinitionError`; `DeploymentError` when the archive is damaged, or there are several places with packages.
    static func addPackages(of directory: String, to files: inout AppFiles) throws {
        guard let place = try onlyPlace({ access("\(directory)/\($0)", F_OK) == 0 }) else { return }
        guard place != PackageCollector.folder else { return try files.readPackages(folder: directory) }
        do {
            files.packages = try collected(
                ArchiveReader(limits: limits).files(at: "\(directory)/\(place)") {
                    PackageCollector.modulePath($0) != nil
                })
        } catch let error as ArchiveError {
            throw DeploymentError(.sourceUnreadable, "\(directory)/\(place): \(error.message)")
        }
    }

    /// Adds the packages in an archive of an app.
    /// - Parameter root: the app's folder in it.
    /// - Throws: as `addPackages(of:to:)`, and `ArchiveError`.
    static func addPackages(ofArchive bytes: [UInt8], root: String, to files: inout AppFiles) throws {
        func inside(_ path: String) -> String? { AppFiles.path(path, inside: root) }
        func isOfPackages(_ path: String) -> Bool {
            inside(path)?.startsWithBytes(of: PackageCollector.folder + "/") == true
        }
        let found = try ArchiveReader(limits: limits).files(of: bytes) { path in
            inside(path).map(PackageCollector.archives.containsExactly) == true || isOfPackages(path)
        }
        let archive = found.first { !isOfPackages($0.path) }
        guard
            let place = try onlyPlace({ place in
                found.contains { file in
                    place == PackageCollector.folder
                        ? isOfPackages(file.path) : inside(file.path)?.hasSameBytes(as: place) == true
                }
            })
        else { return }
        guard place != PackageCollector.folder, let archive else {
            return try files.addPackages(
                found.compactMap { file in
                    inside(file.path).map { AppFiles.ArchivedFile(path: $0, bytes: file.bytes) }
                })
        }
        files.packages = try collected(
            ArchiveReader(limits: limits).files(of: archive.bytes) { PackageCollector.modulePath($0) != nil })
    }

    private static func onlyPlace(_ exists: (String) -> Bool) throws -> String? {
        let found = places.filter(exists)
        guard found.count <= 1 else {
            throw DeploymentError(
                .sourceUnreadable,
                "there are packages in \(found.joined(separator: " and in ")): remove all but one")
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

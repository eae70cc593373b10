public import AppDefinition
import Archives
import DocumentModel
import Foundation

/// Where an app's files come from: a folder, or a zip or tar archive.
public enum AppSource {
    /// The largest archive, in bytes.
    public static let archiveLimit = 64 << 20
    /// All that a deployed app can have, with its packages.
    private static let limits = ArchiveReader.Limits(
        entries: 100_000, fileBytes: archiveLimit,
        totalBytes: AppFiles.totalLimit + AppFiles.otherTotalLimit + PackageCollector.totalLimit, unpackedBytes: 1 << 30
    )
    /// A larger file isn't part of an app, which is said of it by name. Packages are read by themselves.
    private static let appLimits = ArchiveReader.Limits(
        entries: limits.entries, fileBytes: Hosting.fileLimit,
        totalBytes: AppFiles.totalLimit + AppFiles.otherTotalLimit, unpackedBytes: limits.unpackedBytes)

    /// Reads an app from a folder or an archive.
    /// - Parameters:
    ///   - place: its path.
    ///   - choices: what the operator decides, because no file says it.
    /// - Throws: `DeploymentError` with code `sourceUnreadable`; `AppDefinitionError`.
    public static func files(at place: String, choices: DeploymentChoices = DeploymentChoices()) throws -> AppFiles {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder), !isFolder.boolValue else {
            var files = try AppFiles(folder: place)
            try PackageFolder.addPackages(of: place, to: &files)
            files.choices = choices
            return files
        }
        guard let handle = FileHandle(forReadingAtPath: place) else {
            throw DeploymentError(.sourceUnreadable, "\(place) can't be read: check that this user may read it")
        }
        defer { try? handle.close() }  // it was only read
        return try files(of: archive(from: handle, named: place), named: place, choices: choices)
    }

    /// Adds packages that an app's functions need and that it doesn't have.
    /// - Parameter folder: a `node_modules` that has them.
    /// - Returns: the names of those that were taken, sorted.
    /// - Throws: `DeploymentError` with code `sourceUnreadable`; `AppDefinitionError`.
    public static func addPackages(from folder: String, to files: inout AppFiles) throws -> [String] {
        func isFolder(_ path: String) -> Bool {
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
        }
        guard isFolder(folder) else {
            throw DeploymentError(
                .sourceUnreadable, "--packages takes a folder node_modules, and \(folder) is no folder")
        }
        // The folder of the project instead of the one in it.
        let inner = folder + (folder.hasSuffix("/") ? "" : "/") + "node_modules"
        guard !isFolder(inner) else {
            throw DeploymentError(.sourceUnreadable, "--packages takes a folder node_modules: name \(inner)")
        }
        return try files.addPackages(from: folder)
    }

    /// The bytes of an archive.
    /// - Throws: `DeploymentError` with code `sourceUnreadable` when they are more than `archiveLimit`.
    public static func archive(from handle: FileHandle, named name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let part = try handle.read(upToCount: 1 << 20), !part.isEmpty {
            bytes += part
            guard bytes.count <= archiveLimit else {
                throw DeploymentError(
                    .sourceUnreadable, "\(name) has more than \(archiveLimit) bytes, the limit for an app's archive")
            }
        }
        return bytes
    }

    /// All files of an archive that was made of an export, or of an app's files, as they are in it.
    /// - Throws: `DeploymentError` with code `sourceUnreadable`, also for a path that isn't that of a place in the archive.
    public static func originals(
        ofArchive bytes: [UInt8], named name: String
    ) throws -> [(path: String, bytes: [UInt8])] {
        let files: [ArchiveReader.File]
        do {
            files = try ArchiveReader(limits: limits).files(of: bytes) { _ in true }
        } catch {
            throw DeploymentError(.sourceUnreadable, "\(name): \(error.message)")
        }
        if let file = files.first(where: { !AppFiles.isPlain(path: $0.path) }) {
            throw DeploymentError(.sourceUnreadable, "\(name): the path \(file.path) may lead out of the archive")
        }
        return files.map { ($0.path, $0.bytes) }
    }

    /// Reads an app from an archive in memory. Nothing is written.
    /// - Parameter name: the archive's name, for messages.
    /// - Throws: as `files(at:choices:)`.
    public static func files(
        of bytes: [UInt8], named name: String, choices: DeploymentChoices = DeploymentChoices()
    ) throws -> AppFiles {
        do {
            var (long, astray): ([String], [String]) = ([], [])
            let found = try ArchiveReader(limits: appLimits).contents(of: bytes) { path in
                // With a `/`, it is a link's that was asked for without one.
                let isFile = path.utf8.last != UInt8(ascii: "/")
                if AppFiles.isAstray(archived: path) {
                    if isFile { astray.append(path) }
                    return false
                }
                if AppFiles.isTooLong(archived: path), isFile { long.append(path) }
                return AppFiles.mayKeep(archived: path)
            }
            let root = try AppFiles.root(
                inArchive: astray + found.files.map(\.path).filter(AppFiles.mayRead(archived:)), name: name)
            var files = try AppFiles(
                archived: found.files.map { AppFiles.ArchivedFile(path: $0.path, bytes: $0.bytes) },
                links: found.links.map { ($0.path, $0.target) },
                malformed: found.malformed.map { ($0.shown, $0.repaired) }, long: long, special: found.special,
                large: found.large, in: root)
            try PackageFolder.addPackages(ofArchive: bytes, root: root, to: &files)
            files.choices = choices
            return files
        } catch let error as ArchiveError {
            throw DeploymentError(.sourceUnreadable, "\(name): \(error.message)")
        }
    }
}

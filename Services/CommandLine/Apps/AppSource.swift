import AppDefinition
import Archives
import Foundation

/// Where an app's files come from: a folder, a zip or tar archive, or an archive on standard input.
enum AppSource {
    /// The largest archive, in bytes.
    private static let archiveLimit = 64 << 20
    private static let limits = ArchiveReader.Limits(
        entries: 100_000, fileBytes: AppFiles.fileLimit, totalBytes: AppFiles.totalLimit, unpackedBytes: 1 << 30)

    /// The options of each command that reads an app.
    static let options = [
        Command.Option("app-id", value: "ID", "the app's id, in place of the one in its files"),
        Command.Option(
            "sync-by", value: "KEY",
            "for an app with flexible sync: sync in partitions by this field, where the permissions allow it"),
    ]

    /// - Parameter place: a path, or `-` for standard input.
    /// - Throws: `ToolError`, `AppDefinitionError`.
    static func files(_ place: String, _ arguments: Arguments) throws -> AppFiles {
        var files = try read(place)
        files.choices = DeploymentChoices(appId: arguments.value("app-id"), syncBy: arguments.value("sync-by"))
        return files
    }

    private static func read(_ place: String) throws -> AppFiles {
        if place == "-" {
            return try archived(try bytes(of: .standardInput, "standard input"), "standard input")
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder), !isFolder.boolValue else {
            var files = try AppFiles(folder: place)
            files.packages = try PackageFolder.packages(of: place)
            return files
        }
        guard let handle = FileHandle(forReadingAtPath: place) else { throw ToolError("\(place) can't be read") }
        defer { try? handle.close() }  // it was only read
        return try archived(try bytes(of: handle, place), place)
    }

    private static func bytes(of handle: FileHandle, _ name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let part = try handle.read(upToCount: 1 << 20), !part.isEmpty {
            bytes += part
            guard bytes.count <= archiveLimit else {
                throw ToolError("\(name) has more than \(archiveLimit) bytes, the limit for an app's archive")
            }
        }
        return bytes
    }

    private static func archived(_ bytes: [UInt8], _ name: String) throws -> AppFiles {
        do {
            let found = try ArchiveReader(limits: limits).files(of: bytes, where: AppFiles.mayRead)
            let root = try AppFiles.root(inArchive: found.map(\.path), name: name)
            var files = try AppFiles(
                archived: found.map { AppFiles.ArchivedFile(path: $0.path, bytes: $0.bytes) }, in: root)
            files.packages = try PackageFolder.packages(ofArchive: bytes, root: root)
            return files
        } catch let error as ArchiveError {
            throw ToolError("\(name): \(error.message)")
        }
    }
}

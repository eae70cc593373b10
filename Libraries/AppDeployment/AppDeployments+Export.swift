public import AppDefinition
import AppRegistry
public import Archives
import DocumentModel
import Foundation

extension AppDeployments {
    /// The files of a deployed app, byte for byte as they were deployed.
    public struct Export: Sendable {
        public let version: Int64
        /// When it was deployed, in milliseconds since 1970.
        public let deployedAt: Int64
        /// The files with their bytes, sorted by path.
        public let files: [(path: String, bytes: [UInt8])]
        /// What the operator decided at the deployment, which no file says.
        public let choices: DeploymentChoices

        /// Creates an export; the parameters are described at the properties.
        public init(
            version: Int64, deployedAt: Int64, files: [(path: String, bytes: [UInt8])], choices: DeploymentChoices
        ) {
            self.version = version
            self.deployedAt = deployedAt
            self.files = files
            self.choices = choices
        }
    }

    /// The files of an app's version.
    /// - Parameters:
    ///   - app: its id; it may have been removed.
    ///   - number: the version; `nil` stands for the last one.
    /// - Throws: `AppRegistryError` when the history doesn't have it.
    public func export(_ app: String, version number: Int64? = nil) async throws -> Export {
        try await prepare()
        let (deployed, files) = try await registry.version(number, of: app)
        return Export(
            version: deployed.version, deployedAt: deployed.deployedAt, files: files.original, choices: files.choices)
    }

    /// Writes an export.
    /// - Parameter place: a folder that doesn't exist or is empty; or the name of an archive that doesn't exist, which ends in `.zip`, `.tar`,
    ///   `.tar.gz` or `.tgz`.
    /// - Throws: `DeploymentError` with code `placeTaken`, or `pathAstray` before anything is written; errors of the file system.
    public static func write(_ export: Export, to place: String) throws {
        // Whatever an archive had, and whatever a server answers: nothing is written beside the place.
        if let file = export.files.first(where: { !AppFiles.isPlain(path: $0.path) }) {
            throw DeploymentError(
                .pathAstray, "the app has a file with the path \(file.path), which leads elsewhere: nothing was written"
            )
        }
        let manager = FileManager.default
        if let format = ArchiveWriter.Format(ofFileNamed: place) {
            guard !manager.fileExists(atPath: place) else {
                throw DeploymentError(.placeTaken, "\(place) exists: name another file, or remove it")
            }
            let bytes = try archive(export, as: format)
            // Whole or not at all, also on a full disk.
            try Data(bytes).write(to: URL(fileURLWithPath: place), options: .atomic)
            return
        }
        if manager.fileExists(atPath: place), try !manager.contentsOfDirectory(atPath: place).isEmpty {
            throw DeploymentError(.placeTaken, "\(place) isn't empty: name another folder, or empty it")
        }
        for file in export.files {
            let url = URL(fileURLWithPath: "\(place)/\(file.path)")
            try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(file.bytes).write(to: url, options: .withoutOverwriting)
        }
    }

    /// An export as an archive in memory. The same version makes the same bytes.
    public static func archive(_ export: Export, as format: ArchiveWriter.Format) throws(ArchiveError) -> [UInt8] {
        try ArchiveWriter(format).archive(export.files, time: Int(export.deployedAt / 1000))
    }
}

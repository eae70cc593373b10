import AppDefinition
import Archives
public import DocumentModel
import EventLoop
import Postgres

/// The hosted files of a version: the contents are those of the history, once for each app.
extension AppRegistry {
    /// A hosted file.
    public struct HostedFile: Hashable, Sendable {
        /// The SHA-256 of its bytes, in hexadecimal.
        @ExactText public private(set) var digest: String
        public let size: Int
        /// The number of bytes when it is compressed; `nil` when it isn't stored so.
        public let compressedSize: Int?
    }

    /// The files that a version of an app hosts, by their paths in `hosting/files`.
    public func hostedFiles(of app: String, version: Int64) async throws -> [ExactText: HostedFile] {
        let rows = try await client.query(
            """
            SELECT o.key, f.digest, octet_length(f.content)::bigint, octet_length(f.gzip)::bigint
            FROM partita.app_versions v, json_each_text(v.other_files) o
            JOIN partita.app_files f ON f.app = $1 AND f.digest = o.value
            WHERE v.app = $1 AND v.version = $2 AND starts_with(o.key, $3)
            """, [.text(app), .int(version), .text(Hosting.folder)]
        ).decode((String, String, Int64, Int64?).self)
        var files: [ExactText: HostedFile] = [:]
        for (file, digest, size, compressedSize) in rows {
            guard let path = Hosting.path(ofFile: file) else { continue }
            files[path] = HostedFile(digest: digest, size: Int(size), compressedSize: compressedSize.map { Int($0) })
        }
        return files
    }

    /// The bytes of a hosted file.
    /// - Parameter isCompressed: whether those that gzip made of it.
    /// - Returns: `nil` when no version that is kept has it.
    public func content(of app: String, digest: String, isCompressed: Bool) async throws -> [UInt8]? {
        try await client.query(
            "SELECT \(isCompressed ? "gzip" : "content") FROM partita.app_files WHERE app = $1 AND digest = $2",
            [.text(app), .text(digest)]
        ).decode([UInt8]?.self).first ?? nil
    }

    /// The files that an app hosts and that are worth it, compressed, by their paths in the app.
    static func compressed(_ definition: AppDefinition) async -> [ExactText: [UInt8]] {
        guard definition.hosting != nil else { return [:] }
        let files = definition.files.otherFiles.filter { file, bytes in
            bytes.count >= 512 && Hosting.path(ofFile: file.text).map(HostedContentType.isCompressible) == true
        }
        guard !files.isEmpty else { return [:] }
        // It may take seconds.
        return await withCheckedContinuation { continuation in
            BlockingWork.run {
                continuation.resume(
                    returning: files.compactMapValues { bytes in
                        Gzip.compress(bytes).flatMap { $0.count < bytes.count / 10 * 9 ? $0 : nil }
                    })
            }
        }
    }
}

import DocumentModel
import Foundation

/// A link in a document: it refers to bytes by their digest, on behalf of this document.
struct MediaLink: Hashable, Sendable {
    @ExactText var app: String
    var namespace: ChangeEvent.Namespace
    /// The key text of the document's `_id`.
    @ExactText var id: String
    /// The SHA-256 digest of the bytes, 64 lower-case hexadecimal digits.
    @ExactText var digest: String

    init(app: String, namespace: ChangeEvent.Namespace, id: String, digest: String) {
        self.app = app
        self.namespace = namespace
        self.id = id
        self.digest = digest
    }

    /// Parses a link with any public URL, since that may change while documents keep their links; `nil` for any other text.
    init?(_ text: String) {
        guard let start = text.range(of: "/v1/apps/") else { return nil }
        let parts = text[start.upperBound...].split(separator: "/", omittingEmptySubsequences: false)
            .compactMap { String($0).removingPercentEncoding }
        guard parts.count == 6, parts[1] == "media", Self.isDigest(parts[5]) else { return nil }
        self.init(
            app: parts[0], namespace: .init(database: parts[2], collection: parts[3]), id: parts[4], digest: parts[5])
    }

    /// The link's text in documents.
    /// - Parameter base: the service's public URL, without a slash at the end.
    func url(base: String) -> String {
        let parts = [app, "media", namespace.database, namespace.collection, id, digest]
        return "\(base)/v1/apps/" + parts.map { PercentEncoding.encode($0) }.joined(separator: "/")
    }

    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) }
    }
}

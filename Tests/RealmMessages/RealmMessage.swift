public import DocumentModel

/// A message of the Realm sync protocol, as clients that are written from the protocol's description see it: a line of a name and
/// numbers, and bytes after it. Session 1 is the only one.
///
/// It shares nothing with what the gateway reads and writes, so that no mistake is in both.
public struct RealmMessage: Sendable {
    public let name: String
    /// The numbers of the line, without words that aren't numbers.
    public let numbers: [UInt64]
    public let body: [UInt8]

    /// What a server has sent.
    public init(_ bytes: [UInt8]) {
        let head = bytes.prefix { $0 != UInt8(ascii: "\n") }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ").map(String.init)
        name = words.first ?? ""
        numbers = words.dropFirst().compactMap { UInt64($0) }
        body = Array(bytes.dropFirst(head.count + 1))
    }

    /// The JSON of an error.
    public var json: Document { (try? ExtendedJSON.parseDocument(body)) ?? Document() }

    /// The bytes of a message of a client.
    public static func bytes(_ line: String, _ body: [UInt8] = []) -> [UInt8] { Array((line + "\n").utf8) + body }

    /// Begins a session with a partition.
    public static func bind(_ partition: Partition, needsIdent: Bool) -> [UInt8] {
        let path = Array((partition.value.map { ExtendedJSON.print($0) } ?? "").utf8)
        return bytes("bind 1 \(path.count) 0 \(needsIdent ? 1 : 0) 0", path)
    }

    /// Says which client file it is, and what the file has of the history.
    public static func ident(
        _ file: (ident: UInt64, salt: UInt64), downloaded: (server: UInt64, client: UInt64) = (0, 0),
        latest: (version: UInt64, salt: UInt64) = (0, 0)
    ) -> [UInt8] {
        bytes(
            "ident 1 \(file.ident) \(file.salt) \(downloaded.server) \(downloaded.client) \(latest.version) \(latest.salt)"
        )
    }

    /// Asks for an answer as soon as everything has been sent that there is now.
    public static func mark(_ request: UInt64) -> [UInt8] { bytes("mark 1 \(request)") }
}

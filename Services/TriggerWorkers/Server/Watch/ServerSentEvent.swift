import DocumentModel

/// Server-sent events (HTML standard, 9.2) as the Realm SDKs read them: they undo a percent encoding of `%`, line feed and carriage
/// return in the data, and of no other character (`WatchStream` of realm-js and realm-core).
enum ServerSentEvent {
    /// A comment, which clients skip. It shows both sides that the connection works.
    static let heartbeat = Array(":\n\n".utf8)
    private static let begin = Array("data: ".utf8)
    private static let beginError = Array("event: error\ndata: ".utf8)

    /// A change.
    static func message(_ document: Document) -> [UInt8] { event(begin, document) }

    /// The event after which the stream ends.
    static func error(_ end: WatchEnd) -> [UInt8] {
        event(beginError, ["error": .string(end.message), "error_code": .string(end.code)])
    }

    private static func event(_ begin: [UInt8], _ document: Document) -> [UInt8] {
        var text: [UInt8] = []
        ExtendedJSON.append(document, to: &text)
        var bytes = begin
        bytes.reserveCapacity(begin.count + text.count + 16)
        // JSON has line ends only outside of strings, and printed Extended JSON has none.
        var rest = text[...]
        while let place = rest.firstIndex(of: UInt8(ascii: "%")) {
            bytes += rest[...place]
            bytes += [UInt8(ascii: "2"), UInt8(ascii: "5")]
            rest = rest[(place + 1)...]
        }
        bytes += rest
        bytes += [UInt8(ascii: "\n"), UInt8(ascii: "\n")]
        return bytes
    }
}

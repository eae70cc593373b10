import DocumentModel

/// Server-sent events (HTML standard, 9.2) as the Realm SDKs read them: they undo a percent encoding of `%`, line feed and carriage
/// return in the data, and of no other character (`WatchStream` of realm-js and realm-core).
enum ServerSentEvent {
    private static let beginError = Array("event: error\ndata: ".utf8)
    /// The empty id makes a browser's EventSource, which connects again by itself, begin with the present.
    private static let beginLoss = Array("event: error\nid:\ndata: ".utf8)

    /// A change event without its `_id`, which differs between streams.
    struct Data: Sendable {
        /// The JSON text of the fields, and the end of the object.
        fileprivate let text: [UInt8]

        /// - Parameter event: at least one field, and no `_id`.
        init(_ event: Document) { text = Array(escaped(event).dropFirst()) }
    }

    /// A comment, which clients skip. It shows both sides that the connection works.
    /// - Parameter token: what the client sends as `Last-Event-ID` in order to continue here.
    static func heartbeat(_ token: String?) -> [UInt8] {
        Array((token.map { ":\nid: \($0)\n\n" } ?? ":\n\n").utf8)
    }

    /// A change.
    /// - Parameter token: its `_id._data`, of which no character needs an escape in JSON.
    static func message(_ data: Data, token: String) -> [UInt8] {
        let begin = "id: \(token)\ndata: {\"_id\":{\"_data\":\"\(token)\"},"
        var bytes: [UInt8] = []
        bytes.reserveCapacity(begin.utf8.count + data.text.count + 2)
        bytes += begin.utf8
        bytes += data.text
        return end(bytes)
    }

    /// The event after which the stream ends.
    static func error(_ reason: WatchEnd) -> [UInt8] {
        end(
            (reason.losesChanges ? beginLoss : beginError)
                + escaped(["error": .string(reason.message), "error_code": .string(reason.code)]))
    }

    private static func end(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8(ascii: "\n"), UInt8(ascii: "\n")] }

    /// A document's JSON text, in which `%` is encoded.
    private static func escaped(_ document: Document) -> [UInt8] {
        var text: [UInt8] = []
        ExtendedJSON.append(document, to: &text)
        // JSON has line ends only outside of strings, and printed Extended JSON has none.
        var rest = text[...]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count + 16)
        while let place = rest.firstIndex(of: UInt8(ascii: "%")) {
            bytes += rest[...place]
            bytes += [UInt8(ascii: "2"), UInt8(ascii: "5")]
            rest = rest[(place + 1)...]
        }
        return bytes + rest
    }
}

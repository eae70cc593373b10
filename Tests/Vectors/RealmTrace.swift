import DocumentModel

/// A connection's course in one scenario of the recorded client, in order: the messages of `Realm/frames.jsonl.gz`, and what
/// `Realm/events.jsonl.gz` says happened between them.
public struct RealmTrace: Sendable {
    public enum Event: Sendable {
        /// The client asked for a WebSocket with one of these subprotocols, and got this status.
        case upgrade(offered: [String], status: Int, chosen: String?)
        /// A message of the client; the body is uncompressed, whatever the line says.
        case sent(line: String, body: [UInt8])
        /// A message of the server, likewise.
        case received(line: String, body: [UInt8])
        /// The server closed the WebSocket.
        case close(code: Int)
        /// What the driver began, or what the server did.
        case note(String)
    }

    /// The scenarios in which the client opens a WebSocket.
    public static let scenarios = [
        "first-open", "crud", "lists", "embedded", "defaults-and-deletes", "counters", "offline-resend", "async-open",
        "two-partitions", "server-changes", "compensating-write", "permission-denied", "token-expired", "client-reset",
    ]

    public let scenario: String
    public let events: [Event]

    public init(_ scenario: String) throws {
        self.scenario = scenario
        func own(_ file: String) throws -> [Document] {
            try RealmVectors.objects(file).filter { $0["scenario"]?.stringValue == scenario }
        }
        let frames = try own("frames.jsonl.gz"), others = try own("events.jsonl.gz")[...]
        guard !frames.isEmpty, !others.isEmpty else { throw RealmVectors.Unreadable(name: scenario) }
        var events: [Event] = [], rest = others
        for number in 0...frames.count {
            while let next = rest.first, next.integer("before") == Int64(number) {
                events.append(try Self.event(rest.removeFirst()))
            }
            if number == frames.count { break }
            let frame = frames[number], line = frame["head"]?.stringValue ?? "", body = frame.bytes("body")
            events.append(
                frame["direction"] == "c>s" ? .sent(line: line, body: body) : .received(line: line, body: body))
        }
        self.events = events
    }

    private static func event(_ object: Document) throws -> Event {
        switch object["kind"]?.stringValue {
        case "upgrade":
            .upgrade(
                offered: object["offered"]?.stringValue?.split(separator: ", ").map(String.init) ?? [],
                status: Int(object.integer("status")), chosen: object["chosen"]?.stringValue)
        case "close": .close(code: Int(object.integer("code")))
        case "note": .note(object["text"]?.stringValue ?? "")
        default: throw RealmVectors.Unreadable(name: "events.jsonl.gz")
        }
    }
}

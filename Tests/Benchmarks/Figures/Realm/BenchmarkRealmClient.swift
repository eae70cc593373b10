import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import RealmMessages

/// A client of the Realm sync protocol over a bare descriptor, which stores and merges nothing. Its calls block.
struct BenchmarkRealmClient: Sendable {
    let socket: WebSocketClientSocket
    /// The client's newest version.
    fileprivate(set) var clientVersion: UInt64 = 0
    /// The version of the history that it has.
    fileprivate(set) var serverVersion: UInt64 = 0

    init(token: String, port: Int, app: String) throws {
        socket = try WebSocketClientSocket(
            port: port, path: "/api/client/v2.0/app/\(app)/realm-sync?baas_at=\(token)",
            subprotocol: "com.mongodb.realm-sync#14")
    }

    /// Begins a session with a partition as a new client file, and asks to be told when it has everything.
    func begin(_ partition: Partition) throws {
        try socket.send(bytes: RealmMessage.bind(partition, needsIdent: true))
        let answer = RealmMessage(try socket.receive())
        guard answer.name == "ident" else { throw BenchmarkError("\(answer) instead of a number") }
        try socket.send(bytes: RealmMessage.ident((answer.numbers[1], answer.numbers[2])))
        try socket.send(bytes: RealmMessage.mark(1))
    }

    /// What tells it that, and no other message contains.
    static let mark = String(decoding: RealmMessage.mark(1), as: UTF8.self)

    /// Opens a partition with few objects.
    mutating func open(_ partition: Partition) throws {
        try begin(partition)
        while true {
            let message = RealmMessage(try socket.receive())
            switch message.name {
            case "download": serverVersion = message.numbers[1]
            case "mark": return
            default: throw BenchmarkError("\(message.name) \(message.json) instead of a download")
            }
        }
    }
}

extension [BenchmarkRealmClient] {
    /// Uploads each client's changesets, at most `window` unanswered, and returns the seconds until all were acknowledged. Blocks.
    /// - Parameters:
    ///   - areOffline: whether the clients make all of them before they get anything of others.
    ///   - version: that of the history which each client waits for, too.
    mutating func upload(
        _ changesets: [[[UInt8]]], window: Int, areOffline: Bool = false, until version: UInt64 = 0
    ) throws -> Double {
        let bytes = Array<UInt8>(changesets.joined().joined()), lengths = changesets.joined().map(\.count)
        var seconds = 0.0
        let (status, states) = bytes.withUnsafeBufferPointer { bytes in
            lengths.withUnsafeBufferPointer { lengths in
                var (start, number) = (0, 0)
                var states = zip(self, changesets).map { client, own in
                    defer {
                        start += own.reduce(0) { $0 + $1.count }
                        number += own.count
                    }
                    return reference_realm_client(
                        descriptor: client.socket.descriptor, client_version: client.clientVersion,
                        server_version: client.serverVersion, changesets: bytes.baseAddress.map { $0 + start },
                        lengths: lengths.baseAddress.map { $0 + number }, changeset_count: Int32(own.count))
                }
                let status = reference_realm_upload(
                    &states, Int32(states.count), Int32(window), areOffline, version, 120, &seconds)
                return (status, states)
            }
        }
        try WebSocketClientSocket.check(Int(status), "uploading as Realm clients")
        for (index, state) in states.enumerated() {
            (self[index].clientVersion, self[index].serverVersion) = (state.client_version, state.server_version)
        }
        return seconds
    }
}

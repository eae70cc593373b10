import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import DocumentStore
import Foundation
import Glibc
import Postgres
import SyncEngine

/// Clients that watch a collection, somebody who writes into it, and as many plain sockets for the comparison.
actor WatchAudience {
    private static let transactions = 40
    private static let notesEach = 20

    private let system: RunningSystem
    private let partition: Partition
    private let notes: DocumentCollection
    /// A collection that nobody watches.
    private let elsewhere: DocumentCollection
    /// Tells the relay of commits; ends with `close`.
    private let announcing: Task<Void, any Error>
    private let senders: [Int32]
    private let receivers: [Int32]
    private var round = 0
    /// What each client got in the last round.
    private var stream: [UInt8] = []

    init(_ system: RunningSystem, client: PostgresClient, size: Int) async throws {
        let store = DocumentStore(client: client)
        store.define(
            AppStorage(
                app: RunningSystem.app, syncDatabase: "Bench", partitionKey: "partition",
                syncedCollections: [Note.collection, "Unwatched"]))
        self.system = system
        notes = store.collection(Note.collection, database: "Bench", app: RunningSystem.app)
        elsewhere = store.collection("Unwatched", database: "Bench", app: RunningSystem.app)
        announcing = Task { try await store.run() }
        guard let partition = Partition(value: .string("watch-\(UUID().uuidString)")) else {
            throw BenchmarkError("no partition")
        }
        self.partition = partition
        var (senders, receivers) = ([Int32](repeating: -1, count: size), [Int32](repeating: -1, count: size))
        try WebSocketClientSocket.check(
            Int(reference_connect_pairs(&senders, &receivers, Int32(size))), "connecting the plain sockets")
        (self.senders, self.receivers) = (senders, receivers)
        _ = try await deliveriesPerSecond()
    }

    func close() {
        announcing.cancel()
        for descriptor in senders + receivers { Glibc.close(descriptor) }
    }

    private var deliveries: Double { Double(Self.transactions * Self.notesEach * senders.count) }

    /// Has the changes written, and waits until every stream has all of them.
    func deliveriesPerSecond() async throws -> Double {
        round += 1
        let (system, size) = (system, senders.count)
        let sockets = try await Blocking.run { try (0..<size).map { _ in try WatchSocket(system) } }
        async let writing: Void = write(to: notes, watched: true)
        let arrival = try await Audience.receive(from: sockets.map(\.descriptor), upTo: last)
        try await writing
        stream = arrival.stream
        for socket in sockets { socket.close() }
        return deliveries / arrival.seconds
    }

    /// Has the changes written while one stream is open, and then lets all resume from before them.
    func missedPerSecond() async throws -> Double {
        round += 1
        let (system, size) = (system, senders.count)
        let (first, id) = try await Blocking.run {
            let socket = try WatchSocket(system)
            _ = try socket.read(until: "id: ")
            return (socket, String(try socket.read(until: "\n").dropLast()))
        }
        try await write(to: notes, watched: true)
        _ = try await Audience.receive(from: [first.descriptor], upTo: last)
        let start = ContinuousClock.now
        let sockets = try await Blocking.run { try (0..<size).map { _ in try WatchSocket(system, after: id) } }
        let arrival = try await Audience.receive(from: sockets.map(\.descriptor), upTo: last)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        stream = arrival.stream
        for socket in sockets + [first] { socket.close() }
        return deliveries / seconds
    }

    /// Sends the same bytes by a plain loop, a transaction's at a time, while as much is written where nobody listens.
    func plainDeliveriesPerSecond() async throws -> Double {
        let (senders, stream) = (senders, stream)
        let piece = max(1, stream.count / Self.transactions)
        let lengths = stride(from: 0, to: stream.count, by: piece).map { min(piece, stream.count - $0) }
        async let writing: Void = write(to: elsewhere, watched: false)
        async let sending: Void = Blocking.run {
            let status = reference_fan_out(senders, Int32(senders.count), stream, lengths, Int32(lengths.count))
            try WebSocketClientSocket.check(Int(status), "sending")
        }
        let arrival = try await Audience.receive(from: receivers, upTo: last)
        try await sending
        try await writing
        return deliveries / arrival.seconds
    }

    private func write(to collection: DocumentCollection, watched: Bool) async throws {
        for transaction in 0..<Self.transactions {
            try await collection.insertMany(
                (1...Self.notesEach).map { place in
                    let number = transaction * Self.notesEach + place
                    let id = watched ? id(number) : UUID().uuidString
                    return Note(id: id, partition: partition, number: Int64(number)).document
                })
        }
    }

    /// The id of the round's last note.
    private var last: String { id(Self.transactions * Self.notesEach) }

    /// Ends with a letter, so that none is the beginning of another.
    private func id(_ number: Int) -> String { "watched-\(partition.text.suffix(8))-\(round)-\(number)-x" }
}

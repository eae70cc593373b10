import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import DocumentStore
import Foundation
import Glibc
import Postgres
import SyncEngine

/// Devices that have one partition open, somebody who writes into it, and as many plain sockets for the comparison.
actor Audience {
    /// A round's transactions, and what each inserts.
    private static let transactions = 40
    private static let notesEach = 20

    struct Arrival {
        var seconds: Double
        /// What came to the first socket.
        var stream: [UInt8]
    }

    private let partition: Partition
    /// A partition that nobody has open.
    private let elsewhere: Partition
    private let notes: DocumentCollection
    /// Tells the relay of commits; ends with `close`.
    private let announcing: Task<Void, any Error>
    private let listeners: [BenchmarkDevice]
    private let senders: [Int32]
    private let receivers: [Int32]
    private var round = 0
    /// What each listener got in the last round, and how long its frames are.
    private var stream: [UInt8] = []
    private var frameLengths: [Int] = []

    init(_ system: RunningSystem, client: PostgresClient, size: Int) async throws {
        let store = DocumentStore(client: client)
        store.define(
            AppStorage(
                app: RunningSystem.app, syncDatabase: "Bench", partitionKey: "partition",
                syncedCollections: [Note.collection]))
        notes = store.collection(Note.collection, database: "Bench", app: RunningSystem.app)
        announcing = Task { try await store.run() }
        let run = UUID().uuidString
        guard let partition = Partition(value: .string("fan-out-\(run)")),
            let elsewhere = Partition(value: .string("elsewhere-\(run)"))
        else { throw BenchmarkError("no partition") }
        (self.partition, self.elsewhere) = (partition, elsewhere)
        listeners = try await Blocking.run {
            // The first write makes the collection's table.
            let speaker = try system.connect("speaker-\(run)")
            try speaker.open(partition)
            try speaker.send(Note(id: "first-\(run)", partition: partition, number: 0).upload(version: 1))
            try speaker.wait(for: "ack") { if case .ack = $0 { true } else { false } }
            speaker.socket.close()
            return try (0..<size).map { number in
                let device = try system.connect("listener-\(number)-\(run)")
                try device.open(partition)
                return device
            }
        }
        var (senders, receivers) = ([Int32](repeating: -1, count: size), [Int32](repeating: -1, count: size))
        try WebSocketClientSocket.check(
            Int(reference_connect_pairs(&senders, &receivers, Int32(size))), "connecting the plain sockets")
        (self.senders, self.receivers) = (senders, receivers)
        _ = try await deliveriesPerSecond()
    }

    func close() {
        announcing.cancel()
        for device in listeners { device.socket.close() }
        for descriptor in senders + receivers { Glibc.close(descriptor) }
    }

    /// Has the changes written, and waits until every listener has all of them.
    func deliveriesPerSecond() async throws -> Double {
        let listeners = listeners
        round += 1
        try await Blocking.run {
            // Whoever is silent for too long is disconnected.
            for device in listeners {
                try device.send(.ping)
                try device.wait(for: "pong") { if case .pong = $0 { true } else { false } }
            }
        }
        async let writing: Void = write(round, to: partition)
        let arrival = try await Self.receive(from: listeners.map(\.socket.descriptor), upTo: last)
        try await writing
        stream = arrival.stream
        frameLengths = try Self.frameLengths(of: stream)
        return Double(Self.transactions * Self.notesEach * listeners.count) / arrival.seconds
    }

    /// Sends the same frames by a plain loop, while as much is written where nobody listens: the plain loop shares the cores with the
    /// same work of Postgres, the broker and the services.
    func plainDeliveriesPerSecond() async throws -> Double {
        let (senders, stream, lengths) = (senders, stream, frameLengths)
        async let writing: Void = write(round, to: elsewhere)
        async let sending: Void = Blocking.run {
            let status = reference_fan_out(senders, Int32(senders.count), stream, lengths, Int32(lengths.count))
            try WebSocketClientSocket.check(Int(status), "sending")
        }
        let arrival = try await Self.receive(from: receivers, upTo: last)
        try await sending
        try await writing
        return Double(Self.transactions * Self.notesEach * receivers.count) / arrival.seconds
    }

    /// As a function does.
    private func write(_ round: Int, to partition: Partition) async throws {
        for transaction in 0..<Self.transactions {
            try await notes.insertMany(
                (1...Self.notesEach).map { place in
                    let number = transaction * Self.notesEach + place
                    let id = partition == elsewhere ? UUID().uuidString : id(number, round)
                    return Note(id: id, partition: partition, number: Int64(number)).document
                })
        }
    }

    /// The id of the round's last note.
    private var last: String { id(Self.transactions * Self.notesEach, round) }

    /// Ends with a letter, so that none is the beginning of another.
    private func id(_ number: Int, _ round: Int) -> String { "note-\(round)-\(number)-x" }

    /// Reads from sockets until each has got a text.
    static func receive(from descriptors: [Int32], upTo last: String) async throws -> Arrival {
        try await Blocking.run {
            var record = [UInt8](repeating: 0, count: 16 << 20)
            var recorded = record.count
            var arrival = reference_arrival()
            let status = reference_receive_all(
                descriptors, Int32(descriptors.count), last, 60, &record, &recorded, &arrival)
            try WebSocketClientSocket.check(Int(status), "receiving")
            return Arrival(seconds: arrival.seconds, stream: Array(record[..<recorded]))
        }
    }

    /// The frames of a server's stream, with their heads.
    private static func frameLengths(of stream: [UInt8]) throws -> [Int] {
        let cut = BenchmarkError("the stream ends inside a frame")
        var lengths: [Int] = []
        var start = 0
        while start < stream.count {
            guard start + 2 <= stream.count else { throw cut }
            let short = Int(stream[start + 1] & 127)
            let body = start + 2 + (short == 126 ? 2 : short == 127 ? 8 : 0)
            guard body <= stream.count else { throw cut }
            let payload = body == start + 2 ? short : stream[(start + 2)..<body].reduce(0) { $0 << 8 | Int($1) }
            guard body + payload <= stream.count else { throw cut }
            lengths.append(body + payload - start)
            start = body + payload
        }
        return lengths
    }
}

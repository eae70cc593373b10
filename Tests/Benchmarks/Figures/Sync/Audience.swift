import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import Foundation
import Glibc

/// Devices that have one partition open, one that writes into it, and as many plain sockets for the comparison.
actor Audience {
    /// Changes of a round.
    private static let changes = 400

    private struct Arrival {
        var seconds: Double
        /// What came to the first socket.
        var stream: [UInt8]
    }

    private let partition: Partition
    private let speaker: BenchmarkDevice
    private let listeners: [BenchmarkDevice]
    private let senders: [Int32]
    private let receivers: [Int32]
    private var version: Int64 = 0
    /// What each listener got in the last round, and how long its frames are.
    private var stream: [UInt8] = []
    private var frameLengths: [Int] = []

    init(_ system: RunningSystem, size: Int) async throws {
        let run = UUID().uuidString
        guard let partition = Partition(value: .string("fan-out-\(run)")) else { throw BenchmarkError("no partition") }
        self.partition = partition
        (speaker, listeners) = try await Blocking.run {
            let devices = try (0...size).map { number in
                let device = try system.connect("device-\(number)-\(run)")
                try device.open(partition)
                return device
            }
            return (devices[0], Array(devices.dropFirst()))
        }
        var (senders, receivers) = ([Int32](repeating: -1, count: size), [Int32](repeating: -1, count: size))
        try WebSocketClientSocket.check(
            Int(reference_connect_pairs(&senders, &receivers, Int32(size))), "connecting the plain sockets")
        (self.senders, self.receivers) = (senders, receivers)
        _ = try await deliveriesPerSecond()
    }

    func close() {
        for device in listeners + [speaker] { device.socket.close() }
        for descriptor in senders + receivers { Glibc.close(descriptor) }
    }

    /// Has the changes written, and waits until every listener has all of them.
    func deliveriesPerSecond() async throws -> Double {
        let (speaker, listeners) = (speaker, listeners)
        let frames = (1...Int64(Self.changes)).map { number in
            Note(id: id(version + number), partition: partition, number: number).upload(version: version + number)
                .encoded()
        }
        version += Int64(Self.changes)
        try await Blocking.run {
            // Whoever is silent for too long is disconnected.
            for device in listeners {
                try device.send(.ping)
                try device.wait(for: "pong") { if case .pong = $0 { true } else { false } }
            }
        }
        async let writing: Double = Blocking.run { try [speaker].upload([frames], window: 64) }
        let arrival = try await Self.receive(from: listeners.map(\.socket.descriptor), upTo: id(version))
        _ = try await writing
        stream = arrival.stream
        frameLengths = try Self.frameLengths(of: stream)
        return Double(Self.changes * listeners.count) / arrival.seconds
    }

    /// Sends the same frames by a plain loop.
    func plainDeliveriesPerSecond() async throws -> Double {
        let (senders, stream, lengths) = (senders, stream, frameLengths)
        async let sending: Void = Blocking.run {
            let status = reference_fan_out(senders, Int32(senders.count), stream, lengths, Int32(lengths.count))
            try WebSocketClientSocket.check(Int(status), "sending")
        }
        let arrival = try await Self.receive(from: receivers, upTo: id(version))
        try await sending
        return Double(Self.changes * receivers.count) / arrival.seconds
    }

    /// Ends with a letter, so that none is the beginning of another.
    private func id(_ version: Int64) -> String { "note-\(version)-x" }

    private static func receive(from descriptors: [Int32], upTo last: String) async throws -> Arrival {
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

import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import Foundation
import SyncEngine

/// Devices that write into partitions at a steady rate, whether or not they were answered, and devices that have these partitions open.
/// Times are counted from when a message was due, so that what is late delays no measurement of the next one.
// Unchecked: used by one thread at a time.
final class OfferedLoad: @unchecked Sendable {
    /// The times of one round in milliseconds.
    struct Times {
        /// From when a message was due until its writer had the acknowledgement.
        var acks: Samples
        /// From when a message was due until a reader had it, of every reader.
        var arrivals: Samples
    }

    private let writers: [BenchmarkDevice]
    private let readers: [BenchmarkDevice]
    /// Of each writer.
    private let partitions: [Partition]
    private let readersEach: Int
    private var versions: [Int64]
    private var round = 0

    /// Connects the devices. Blocks.
    /// - Parameters:
    ///   - partitions: into how many partitions the writers write in turns, at most as many as there are writers.
    ///   - readers: how many devices read each partition.
    init(_ system: RunningSystem, writers: Int, partitions: Int, readers: Int) throws {
        let run = UUID().uuidString
        let shared = (0..<partitions).compactMap { Partition(value: .string("load-\($0)-\(run)")) }
        self.writers = try (0..<writers).map { try system.connect("writer-\($0)-\(run)") }
        self.partitions = (0..<writers).map { shared[$0 % shared.count] }
        for (device, partition) in zip(self.writers, self.partitions) { try device.open(partition) }
        self.readers = try shared.enumerated().flatMap { place, partition in
            try (0..<readers).map { number in
                let device = try system.connect("reader-\(place)-\(number)-\(run)")
                try device.open(partition)
                return device
            }
        }
        readersEach = readers
        versions = Array(repeating: 0, count: writers)
    }

    func close() { for device in writers + readers { device.socket.close() } }

    /// Has the messages written, and waits until all have arrived. Blocks.
    func measure(messages: Int, perSecond: Double) throws -> Times {
        round += 1
        // Whoever is silent for too long is disconnected.
        for device in readers {
            try device.send(.ping)
            try device.wait(for: "pong") { if case .pong = $0 { true } else { false } }
        }
        let frames = (0..<messages).map { number in
            let writer = number % writers.count
            versions[writer] += 1
            let digits = String(number)
            let mark = "mark-" + String(repeating: "0", count: 8 - digits.count) + digits
            let note = Note(
                id: "\(writers[writer].id)-\(round)-\(mark)", partition: partitions[writer], number: Int64(number))
            return note.upload(version: versions[writer]).encoded()
        }
        var acks = [Double](repeating: 0, count: messages)
        var arrivals = [Double](repeating: 0, count: messages * readersEach)
        let (writing, reading) = (writers.map(\.socket.descriptor), readers.map(\.socket.descriptor))
        let lengths = frames.map(\.count), text = Array(frames.joined())
        let status = text.withUnsafeBufferPointer { text in
            lengths.withUnsafeBufferPointer { lengths in
                writing.withUnsafeBufferPointer { writing in
                    reading.withUnsafeBufferPointer { reading -> Int32 in
                        guard let text = text.baseAddress, let lengths = lengths.baseAddress,
                            let writing = writing.baseAddress, let reading = reading.baseAddress
                        else { return -Int32(EINVAL) }
                        var load = reference_load(
                            writers: writing, writer_count: Int32(writers.count), readers: reading,
                            reader_count: Int32(readers.count), frames: text, lengths: lengths,
                            frame_count: Int32(messages), per_second: perSecond, arrival_count: arrivals.count)
                        return reference_offer(&load, 30, &acks, &arrivals)
                    }
                }
            }
        }
        try WebSocketClientSocket.check(Int(status), "offering load")
        return Times(acks: Samples(acks.map { $0 * 1000 }), arrivals: Samples(arrivals.map { $0 * 1000 }))
    }
}

import DocumentModel
import Foundation
import SyncEngine

/// Devices that insert documents and wait until all are acknowledged.
// Unchecked: used by one thread at a time.
final class Uploaders: @unchecked Sendable {
    private let devices: [BenchmarkDevice]
    private let partitions: [Partition]
    private var version: Int64 = 0
    private let writesEach: Int
    private let window: Int

    /// Connects the devices. Blocks.
    /// - Parameters:
    ///   - partitions: how many the devices share.
    ///   - writesEach: how many documents a device inserts in a round.
    ///   - window: how many of a device's changesets may be unanswered.
    init(
        _ system: RunningSystem, devices count: Int, partitions shared: Int, writesEach: Int,
        window: Int = DevicePartition.uploadWindow
    ) throws {
        let run = UUID().uuidString
        self.writesEach = writesEach
        self.window = window
        devices = try (0..<count).map { try system.connect("uploader-\($0)-\(run)") }
        partitions = devices.indices.compactMap { Partition(value: .string("uploads-\($0 % shared)-\(run)")) }
        for (device, partition) in zip(devices, partitions) { try device.open(partition) }
        _ = try writesPerSecond()  // makes the collection's table, which the reference copies
    }

    /// A round. Blocks.
    func writesPerSecond() throws -> Double {
        let frames = zip(devices, partitions).map { device, partition in
            (version + 1...version + Int64(writesEach)).map { version in
                Note(id: "\(device.id)-\(version)", partition: partition, number: version).upload(version: version)
                    .encoded()
            }
        }
        version += Int64(writesEach)
        return Double(devices.count * writesEach) / (try devices.upload(frames, window: window))
    }

    func close() { for device in devices { device.socket.close() } }
}

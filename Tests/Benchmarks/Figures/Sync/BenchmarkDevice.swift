import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import Foundation
import SyncEngine
import SyncProtocol

/// A device that speaks the protocol over a bare descriptor and stores nothing. Its calls block.
struct BenchmarkDevice: Sendable {
    let id: String
    let socket: WebSocketClientSocket

    init(_ id: String, token: String, port: Int, app: String) throws {
        self.id = id
        socket = try WebSocketClientSocket(
            port: port, path: "/v1/apps/\(app)/sync", subprotocol: SyncProtocolVersion.name)
        try send(.hello(.init(device: id, token: token, readsCompact: true)))
        try wait(for: "welcome") { if case .welcome = $0 { true } else { false } }
    }

    /// Opens an empty partition, or any partition at its head.
    func open(_ partition: Partition) throws {
        try send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        try wait(for: "subscribed") { if case .subscribed = $0 { true } else { false } }
        try wait(for: "final download") { frame in
            if case .download(_, let download) = frame { download.catchUp?.isFinal == true } else { false }
        }
    }

    func send(_ frame: DeviceFrame) throws {
        try socket.send(String(decoding: frame.encoded(), as: UTF8.self))
    }

    /// Reads frames up to the one that is awaited.
    func wait(for what: String, _ isIt: (GatewayFrame) -> Bool) throws {
        while true {
            let frame = try GatewayFrame(try socket.receive())
            if isIt(frame) { return }
            switch frame {
            case .error, .rejected, .forked, .revoked: throw BenchmarkError("\(frame) instead of \(what)")
            default: continue
            }
        }
    }
}

extension [BenchmarkDevice] {
    /// Sends each device's frames, at most `window` unanswered, and returns the seconds until all were acknowledged. Blocks.
    /// - Parameters:
    ///   - frames: as many for each device.
    ///   - last: a text that each device waits for in its downloads, too.
    func upload(_ frames: [[[UInt8]]], window: Int, last: String? = nil) throws -> Double {
        let texts = frames.map { frames in
            let text = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: frames.reduce(0) { $0 + $1.count })
            _ = text.initialize(fromContentsOf: Array<UInt8>(frames.joined()))
            return text
        }
        defer { for text in texts { text.deallocate() } }
        var seconds = 0.0
        let status = reference_upload(
            map(\.socket.descriptor), Int32(count), texts.map { $0.baseAddress.map { UnsafePointer($0) } },
            frames.joined().map(\.count), Int32(frames.first?.count ?? 0), Int32(window), last, 60, &seconds)
        try WebSocketClientSocket.check(Int(status), "uploading")
        return seconds
    }
}

/// The document that the benchmarks write: small, as a chat's message is.
struct Note {
    static let collection = "Note"

    let id: String
    let partition: Partition
    let number: Int64

    var document: Document {
        [
            "_id": .string(id), "partition": partition.value ?? .null,
            "text": "A message of some length, as people write them when they have something to say to each other.",
            "number": .int64(number), "at": .date(1_700_000_000_000 + number),
        ]
    }

    var insert: SyncEngine.Operation {
        SyncEngine.Operation(collection: Self.collection, id: .string(id), kind: .insert(document))
    }

    /// The frame by which a device inserts it.
    func upload(version: Int64) -> DeviceFrame { .upload([insert], to: partition, version: version) }
}

extension DeviceFrame {
    /// The frame by which a device uploads a changeset that it has just made.
    static func upload(_ operations: [SyncEngine.Operation], to partition: Partition, version: Int64) -> DeviceFrame {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return .upload(
            .init(
                partition: partition, sentAt: now,
                changesets: [
                    Changeset(version: version, clock: HybridTime(milliseconds: now), operations: operations)
                ]))
    }
}

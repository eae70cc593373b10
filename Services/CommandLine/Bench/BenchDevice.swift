import DocumentModel
import EventLoop
import Foundation
import PartitaClient
import SyncEngine
import SyncProtocol

/// A device of `partita bench`: it speaks the protocol, and stores nothing.
final class BenchDevice: Sendable {
    private struct State {
        var version: Int64 = 0
        /// Writes that aren't sent: the number of a measured one, and its operations.
        var waiting: [(number: Int?, operations: [SyncEngine.Operation])] = []
        /// The numbers of the measured writes without an answer, by version; `nil` for one that isn't measured.
        var unanswered: [Int64: Int?] = [:]
        var pings: [ContinuousClock.Instant] = []
        /// The writes of others that have arrived.
        var arrived: Set<Int> = []
        var isClosing = false
    }

    /// Its number among the writers, or among the readers.
    let place: Int
    private let writes: Bool
    private let plan: BenchPlan
    private let partition: Partition
    private let times: BenchTimes
    private let connection: any SyncConnection
    private let state = Locked(State())

    private init(
        _ plan: BenchPlan, _ place: Int, writes: Bool, _ times: BenchTimes, _ connection: any SyncConnection
    ) {
        self.plan = plan
        self.place = place
        self.writes = writes
        partition = plan.partition(ofDevice: place)
        self.times = times
        self.connection = connection
    }

    /// Connects, opens the partition, and reads it to its head.
    /// - Parameter writes: whether the user must have the right to write.
    /// - Throws: `ToolError` when the gateway refuses it.
    static func open(
        _ plan: BenchPlan, place: Int, writes: Bool, times: BenchTimes, access: (url: String, token: String),
        transport: any SyncTransport
    ) async throws -> BenchDevice {
        let connection = try await transport.connect(access.url, subprotocol: SyncProtocolVersion.name)
        let device = BenchDevice(plan, place, writes: writes, times, connection)
        do {
            try await device.open(token: access.token)
        } catch {
            connection.close()
            throw error
        }
        return device
    }

    private func open(token: String) async throws {
        let device = "bench-\(plan.mark)-\(writes ? "w" : "r")\(place)"
        send(.hello(.init(device: device, token: token, readsCompact: true)))
        try await frame { if case .welcome = $0 { true } else { false } }
        send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        let mayWrite = Locked(false)
        try await frame { frame in
            guard case .subscribed(let answer) = frame else { return false }
            mayWrite.withLock { $0 = answer.access == .write }
            return true
        }
        guard !writes || mayWrite.withLock({ $0 }) else {
            throw ToolError("the user may not write into the partition \(partition.text)")
        }
        try await frame { frame in
            guard case .download(_, let download) = frame else { return false }
            return download.catchUp?.isFinal == true
        }
    }

    /// Reads frames until the expected one.
    private func frame(_ isExpected: (GatewayFrame) -> Bool) async throws {
        while let bytes = await connection.receive() {
            let frame = try GatewayFrame(bytes)
            if isExpected(frame) { return }
            if let trouble = Self.trouble(frame) { throw ToolError(trouble) }
        }
        throw ToolError("the gateway closed the connection of a device")
    }

    /// What a frame says that a device of a benchmark doesn't expect.
    private static func trouble(_ frame: GatewayFrame) -> String? {
        switch frame {
        case .error(let report) where report.action != .wait: "\(report.code.rawValue): \(report.message)"
        case .revoked(let partition, let reason): "the partition \(partition.text) is refused: \(reason)"
        case .forked: "the gateway has other changesets of the device"
        default: nil
        }
    }

    private func send(_ frame: DeviceFrame) { connection.send(frame.encoded()) }

    // MARK: Writing

    /// Sends a write, as soon as the protocol's window has room.
    func write(_ number: Int) {
        let insert = Operation(collection: plan.collection, id: plan.id(number), kind: .insert(plan.document(number)))
        offer(number, [insert])
    }

    /// Deletes the documents of some writes.
    func delete(_ numbers: some Sequence<Int>) {
        offer(nil, numbers.map { Operation(collection: plan.collection, id: plan.id($0), kind: .delete) })
    }

    /// Whether all writes are answered.
    var isDone: Bool { state.withLock { $0.waiting.isEmpty && $0.unanswered.isEmpty } }

    private func offer(_ number: Int?, _ operations: [SyncEngine.Operation]) {
        state.withLock { state in
            state.waiting.append((number, operations))
            sendWaiting(&state)
        }
    }

    private func sendWaiting(_ state: inout State) {
        let room = min(DevicePartition.uploadWindow - state.unanswered.count, state.waiting.count)
        guard room > 0 else { return }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let changesets = state.waiting.prefix(room).map { write in
            state.version += 1
            state.unanswered[state.version] = .some(write.number)
            return Changeset(
                version: state.version, clock: HybridTime(milliseconds: now), operations: write.operations)
        }
        state.waiting.removeFirst(room)
        send(.upload(.init(partition: partition, sentAt: now, changesets: changesets)))
    }

    func ping() {
        state.withLock { $0.pings.append(.now) }
        send(.ping)
    }

    // MARK: Reading

    /// Notes what arrives until the connection is closed.
    func listen() async {
        let mark = Array(plan.mark.utf8)
        while let bytes = await connection.receive() {
            let now = ContinuousClock.now
            do {
                if bytes.starts(with: Self.downloadHead) {
                    note(Self.numbers(in: bytes, after: mark), now)
                } else {
                    take(try GatewayFrame(bytes), now)
                }
            } catch {
                times.failed("a frame of the gateway can't be read: \(error)")
            }
        }
        if !state.withLock({ $0.isClosing }) { times.failed("the gateway closed the connection of a device") }
    }

    private static let downloadHead = Array(#"{"type":"download""#.utf8)

    private func take(_ frame: GatewayFrame, _ now: ContinuousClock.Instant) {
        switch frame {
        case .ack(let ack):
            if let number = answered(ack.version) { times.acknowledged(number, now) }
        case .rejected(let rejection):
            if answered(rejection.version) != nil {
                let reason = rejection.reason
                times.refused("\(reason.path.map { "\($0): " } ?? "")\(reason.reason) (\(reason.code.rawValue))")
            }
        case .pong:
            let sent = state.withLock { $0.pings.isEmpty ? nil : $0.pings.removeFirst() }
            if let sent { times.answeredPing(after: now - sent) }
        default: if let trouble = Self.trouble(frame) { times.failed(trouble) }
        }
    }

    /// - Returns: the number of the measured write.
    private func answered(_ version: Int64) -> Int? {
        state.withLock { state in
            let number = state.unanswered.removeValue(forKey: version) ?? nil
            sendWaiting(&state)
            return number
        }
    }

    private func note(_ numbers: [Int], _ now: ContinuousClock.Instant) {
        // A device gets its own writes, too.
        let others = numbers.filter { !writes || $0 % plan.writers != place }
        let new = state.withLock { state in others.filter { state.arrived.insert($0).inserted } }
        times.arrived(new, now)
    }

    /// The numbers of the ids in a frame that begin with a mark. A reader of a busy partition gets far more than it can parse.
    private static func numbers(in frame: [UInt8], after mark: [UInt8]) -> [Int] {
        var numbers: [Int] = []
        frame.withUnsafeBytes { frame in
            var place = 0
            while let start = frame.end(of: mark, from: place) {
                let digits = UnsafeRawBufferPointer(rebasing: frame[start...].prefix(BenchPlan.digits))
                place = start + digits.count
                if let number = Int(String(decoding: digits, as: UTF8.self), radix: 16) { numbers.append(number) }
            }
        }
        return numbers
    }

    func close() {
        state.withLock { $0.isClosing = true }
        connection.close()
    }
}

extension UnsafeRawBufferPointer {
    /// Where the first occurrence of some bytes at or after a place ends.
    fileprivate func end(of bytes: [UInt8], from start: Int) -> Int? {
        guard let base = baseAddress, let first = bytes.first else { return nil }
        var place = start
        while count - place >= bytes.count,
            let found = memchr(base + place, Int32(first), count - place - bytes.count + 1)
        {
            place = UnsafeRawPointer(found) - base
            if memcmp(found, bytes, bytes.count) == 0 { return place + bytes.count }
            place += 1
        }
        return nil
    }
}

import EventLoop
import PartitaClient

/// A run of `partita bench`: devices that write at a steady rate, whether or not they were answered, and devices that read.
struct BenchRun: Sendable {
    let plan: BenchPlan
    let times: BenchTimes
    private let writers: [BenchDevice]
    private let readers: [BenchDevice]

    /// How many devices connect at a time.
    private static let connecting = 8
    /// How long nothing may come before the run counts as over.
    private static let patience = Duration.seconds(30)
    /// How soon a signal is noticed.
    private static let attention = Duration.milliseconds(100)
    /// The documents that one changeset deletes.
    private static let deletion = 100

    /// Connects the devices.
    init(
        _ plan: BenchPlan, access: (url: String, token: String), transports: [any SyncTransport]
    ) async throws {
        let times = BenchTimes(plan)
        self.plan = plan
        self.times = times
        func open(_ count: Int, writes: Bool) async throws -> [BenchDevice] {
            var devices: [BenchDevice] = []
            do {
                for first in stride(from: 0, to: count, by: Self.connecting) {
                    devices += try await withThrowingTaskGroup(of: BenchDevice.self) { group in
                        for place in first..<min(count, first + Self.connecting) {
                            group.addTask {
                                try await BenchDevice.open(
                                    plan, place: place, writes: writes, times: times, access: access,
                                    transport: transports[place % transports.count])
                            }
                        }
                        // In the order of their places, which their partitions follow.
                        return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.place < $1.place }
                    }
                }
            } catch {
                for device in devices { device.close() }
                throw error
            }
            return devices
        }
        writers = try await open(plan.writers, writes: true)
        do {
            readers = try await open(plan.readers, writes: false)
        } catch {
            for device in writers { device.close() }
            throw error
        }
    }

    /// Writes, waits for what comes of it, deletes the documents again, and closes the connections. A signal ends the writing and the waiting.
    func play(until signals: StopSignals) async throws {
        let devices = writers + readers
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in devices { group.addTask { await device.listen() } }
            group.addTask { try await ping(devices) }
            let result: Result<Void, any Error>
            do { result = .success(try await write(until: signals)) } catch { result = .failure(error) }
            group.cancelAll()
            for device in devices { device.close() }
            while let ended = await group.nextResult() {
                if case .failure(let error) = ended, !(error is CancellationError) { throw error }
            }
            try result.get()
        }
    }

    private func write(until signals: StopSignals) async throws {
        let begin = ContinuousClock.now + .milliseconds(100)
        times.begin(begin)
        var written = 0
        while written < plan.writes {
            // The load is open: a write has its time, whatever became of those before it.
            let due = begin + plan.due(written)
            // In short sleeps, since nothing wakes it for a signal.
            while due > .now, !signals.isRaised {
                try await Task.sleep(until: min(due, .now + Self.attention), tolerance: .zero, clock: .continuous)
            }
            if signals.isRaised { break }
            writers[written % writers.count].write(written)
            written += 1
        }
        try await wait { times.progress.isComplete || signals.isRaised }
        if plan.keeps { return }
        for (place, device) in writers.enumerated() {
            let own = Array(stride(from: place, to: written, by: writers.count))
            for first in stride(from: 0, to: own.count, by: Self.deletion) {
                device.delete(own[first..<min(own.count, first + Self.deletion)])
            }
        }
        try await wait { writers.allSatisfy(\.isDone) }
    }

    /// Waits until something is done, or nothing has come for long.
    private func wait(_ isDone: () -> Bool) async throws {
        var last = times.progress.count, end = ContinuousClock.now + Self.patience
        while !isDone(), .now < end {
            try await Task.sleep(for: .milliseconds(10))  // no event tells when all have what they will get
            let present = times.progress.count
            if present != last { end = .now + Self.patience }
            last = present
        }
    }

    /// Asks all devices' gateways in turns for a sign of life, which also keeps the connections open.
    private func ping(_ devices: [BenchDevice]) async throws {
        let interval = min(.milliseconds(250), .seconds(10) / devices.count)
        while true {
            for device in devices {
                device.ping()
                try await Task.sleep(for: interval)  // the pace of all pings together; none waits for an answer
            }
        }
    }
}

import DocumentModel
import Foundation
import SQLite
import SyncEngine
import SyncProtocol

/// A session's sync: its connection, its open partitions, its local store.
///
/// It runs on the store's own executor, so that a step of the bookkeeping, the transaction that saves it and the notification of
/// observers are one synchronous piece of work, with nothing in between.
actor SyncClient {
    nonisolated let store: LocalStore
    nonisolated var unownedExecutor: UnownedSerialExecutor { store.database.unownedExecutor }

    let configuration: PartitaConfiguration
    let tokens: SessionTokens
    var device: String
    var clock: HybridClock
    var connection: DeviceConnection
    var limits = GatewayFrame.Limits(ConnectionLimits())
    var partitions: [Partition: OpenPartition] = [:]
    /// The number of the partition that was opened last (``OpenPartition/number``).
    var lastOpened = 0
    var observations: [Int: Observation] = [:]
    var nextObservation = 0
    var presence = OwnPresence()
    var uploads = UploadWindow()
    var trial = SuspectTrial()
    /// Whether a task waits for the suspect's time.
    var isTrialDue = false
    var connectionStates = Broadcast<ConnectionState>(limit: 1)
    var events = Broadcast<SyncEvent>(limit: 256)
    var presences = Broadcast<UserPresence>(limit: 256)

    private let syncURL: @Sendable () async throws -> String
    private let started = ContinuousClock.now
    private var link: (any SyncConnection)?
    /// Whether the store couldn't keep what came last: each connection would begin with the same, so the pauses between them grow.
    private var hasStoreFailed = false
    private var token: AccessToken?
    /// The running tasks of this session; `stop` cancels and awaits them.
    private var jobs: [Int: Task<Void, Never>] = [:]
    private var nextJob = 0
    private var timer: (deadline: Duration, task: Task<Void, Never>)?
    private(set) var isStopped = false
    /// Why the connection has ended for good, until the app asks for another one; otherwise `nil`.
    private(set) var ending: PartitaError?

    init(
        configuration: PartitaConfiguration, store: LocalStore, tokens: SessionTokens,
        syncURL: @escaping @Sendable () async throws -> String
    ) async throws {
        self.configuration = configuration
        self.store = store
        self.tokens = tokens
        self.syncURL = syncURL
        let identity = try await store.prepare(
            freshDevice: UUID().uuidString.lowercased(),
            forgetBefore: Self.milliseconds - configuration.retention.components.seconds * 1000)
        device = identity.device
        clock = HybridClock(latest: identity.clock)
        connection = DeviceConnection(
            timing: configuration.timing,
            backoff: Backoff(
                base: configuration.reconnect.first, limit: configuration.reconnect.longest,
                seed: .random(in: 0 ... .max)))
    }

    // MARK: Time

    /// Milliseconds since 1970.
    static var milliseconds: Int64 { WallClock.system.now() }

    var now: Duration { ContinuousClock.now - started }

    /// Sets the timer that calls `tick` at the connection's deadline.
    private func schedule() {
        guard !isStopped, let deadline = connection.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        timer?.task.cancel()
        let wait = max(deadline - now, .zero)
        timer = (
            deadline,
            Task { [weak self] in
                do {
                    try await Task.sleep(for: wait)
                } catch {
                    return  // cancelled: another timer took its place
                }
                await self?.ring()
            }
        )
    }

    private func ring() {
        timer = nil
        perform(connection.tick(now: now))
    }

    // MARK: The connection

    func goOnline() {
        if isStopped { return }
        if ending != nil { refuseAll(nil) }
        perform(connection.goOnline())
    }

    /// Tells all who wait that the connection has ended for good, or that it is tried again.
    func refuseAll(_ ending: PartitaError?) {
        self.ending = ending
        for partition in partitions.keys {
            partitions[partition]?.refusal = ending
            publishState(of: partition)
        }
    }

    func goOffline() { perform(connection.goOffline()) }

    /// Closes the connection, and ends all tasks and streams of the session.
    func stop() async {
        isStopped = true
        perform(connection.goOffline())
        timer?.task.cancel()
        for job in jobs.values { job.cancel() }
        for job in jobs.values { await job.value }
        connectionStates.finish()
        events.finish()
        presences.finish()
        for observation in observations.values { observation.continuation.finish() }
        for partition in partitions.keys { partitions[partition]?.states.finish() }
    }

    /// Performs the actions of the connection's state machine.
    func perform(_ actions: [DeviceConnection.Action]) {
        for action in actions {
            switch action {
            case .fetchToken(let fresh): run { await $0.fetchToken(fresh: fresh) }
            case .open(let number): run { await $0.open(number) }
            case .sendHello:
                guard let token else { break }
                send(
                    .hello(
                        .init(
                            device: device, token: token.text, schemaVersion: configuration.schemaVersion,
                            readsCompact: true)))
            case .resume:
                trial.connected(now: now)
                for partition in inOrder { subscribe(partition) }
                if presence.isUsed { send(.presence(presence.update)) }
            case .sendToken: if let token { send(.token(accessToken: token.text)) }
            case .sendPing: send(.ping)
            case .close:
                link?.close()
                link = nil
                uploads = UploadWindow()
                for partition in partitions.keys {
                    partitions[partition]?.bookkeeping.disconnected()
                    partitions[partition]?.isRequested = false
                    partitions[partition]?.refusal = nil
                    partitions[partition]?.progress = nil
                    publishState(of: partition)
                }
            case .signOut:
                let reason = "the session has ended; the user has to sign in again"
                refuseAll(PartitaError(code: .signedOut, message: reason))
            }
        }
        connectionStates.send(ConnectionState(connection.phase))
        schedule()
    }

    func send(_ frame: DeviceFrame) { send(text: frame.encoded()) }

    func send(text: [UInt8]) { link?.send(text) }

    /// Gives the connection up; `remedy` decides when to connect again.
    func reconnect(_ remedy: DeviceConnection.Remedy, number: Int) {
        perform(connection.failed(connection: number, remedy: remedy, now: now))
    }

    private func fetchToken(fresh: Bool) async {
        do {
            let token = try await tokens.accessToken(fresh: fresh)
            self.token = token
            let expiry = now + token.remaining(nowMilliseconds: Self.milliseconds)
            perform(connection.tokenObtained(expiry: expiry, now: now))
        } catch {
            let isFinal = (error as? PartitaError)?.code == .signedOut
            perform(connection.tokenFailed(isFinal: isFinal, now: now))
        }
    }

    private func open(_ number: Int) async {
        let link: any SyncConnection
        do {
            link = try await configuration.sync.connect(syncURL(), subprotocol: SyncProtocolVersion.name)
        } catch {
            perform(connection.closed(connection: number, now: now))
            return
        }
        let actions = connection.opened(connection: number, now: now)
        guard !actions.isEmpty else { return link.close() }  // given up meanwhile
        self.link = link
        perform(actions)
        while let bytes = await link.receive() {
            connection.heard(connection: number, now: now)
            if !connection.isCurrent(number) { break }
            receive(bytes, number: number)
        }
        link.close()
        if connection.isCurrent(number), trial.connectionLost(now: now) {
            for partition in partitions.keys { partitions[partition]?.bookkeeping.connectionLost() }
        }
        perform(connection.closed(connection: number, now: now))
    }

    private func receive(_ bytes: [UInt8], number: Int) {
        let frame: GatewayFrame
        do throws(SyncProtocolError) {
            frame = try GatewayFrame(bytes, limit: .max)
        } catch {
            events.send(.error(code: error.code.rawValue, message: error.message))
            reconnect(.retry, number: number)
            return
        }
        if case .welcome(let welcome) = frame {
            limits = welcome.limits
            let isSuspicious = hasStoreFailed || partitions.values.contains(where: \.bookkeeping.hasSuspect)
            perform(connection.welcomed(connection: number, isSuspicious: isSuspicious, now: now))
            return
        }
        do {
            try take(frame, number: number)
            if case .download = frame { hasStoreFailed = false }
        } catch {
            hasStoreFailed = true
            // The store failed: its contents are unchanged, and the gateway sends the changes again on the next connection.
            events.send(.error(code: "store", message: "\(error)"))
            reconnect(.retry, number: number)
        }
    }

    // MARK: Jobs

    /// Runs `body` in a task of its own, until it is done or the session stops.
    func run(_ body: @escaping @Sendable (SyncClient) async -> Void) {
        if isStopped { return }
        let number = nextJob
        nextJob += 1
        jobs[number] = Task {
            await body(self)
            self.jobs[number] = nil
        }
    }
}

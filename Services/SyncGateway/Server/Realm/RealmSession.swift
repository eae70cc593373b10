import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import Foundation
import Grants
import Logging
import RealmSync
import ServiceEngines
import SyncEngine

/// A partition that a Realm client has open: does what the session's state machine decides.
///
/// `@unchecked Sendable`: confined to the loop of its connection.
final class RealmSession: FeedFollower, GrantHolder, @unchecked Sendable {
    let number: UInt64
    var slot: Int?
    private let bind: BindFrame
    private let connection: RealmConnection
    private var machine: SessionStateMachine
    private var partition = Partition.null
    private var history: RealmHistory?
    private var isAttached = false
    private var grant = StandingGrant()
    private var access = Access.none
    private var following: GrantBook.Following?
    private var progressTimer: LoopTimer?
    private var isWakingForUploads = false

    /// The pause before it is noted how far a client is, in milliseconds.
    private static let progressPause: UInt64 = 10_000

    init(_ bind: BindFrame, connection: RealmConnection) {
        self.bind = bind
        self.connection = connection
        number = bind.session
        machine = SessionStateMachine(
            number: bind.session, user: connection.claims.user, version: connection.version)
    }

    var loop: EventLoop { connection.loop }
    private var key: PartitionKey { PartitionKey(app: connection.app, partition: partition) }
    private var context: GatewayContext { connection.context }

    // MARK: The beginning

    func start() {
        guard let path = String(validating: bind.path, as: UTF8.self), let value = try? ExtendedJSON.parse(path),
            value == .null || value.storableKey != nil, let partition = Partition(value: value), !partition.isInternal,
            context.apps.app(connection.app)?.definition.sync?.admits(value) ?? false
        else {
            let path = String(decoding: bind.path.prefix(100), as: UTF8.self)
            return fail(
                SessionError(
                    .illegalRealmPath, "Illegal Realm path (BIND): serialized partition '\(path)' is invalid",
                    action: .applicationBug, triesAgain: false))
        }
        self.partition = partition
        history = connection.hub.open(key, by: self)
        let claims = connection.claims, grants = context.downloads.grants
        following = grants.follow(app: connection.app, user: claims.user, partition: partition) {
            [self] grant, answer in
            loop.execute {
                self.heard(grant)
                if let answer { self.connection.whenDrained { answer.stopped() } }
            }
        }
        run { [self] in
            let grant = try await grants.resolve(
                app: connection.app, user: claims.user, device: claims.device, partition: partition,
                claims: RuleUser(claims).claims)
            guard machine.isBinding else { return }
            guard let grant else { throw RealmRefusal.busy }
            if self.grant.take(
                version: grant.version, expires: grant.expires, isForEveryone: grant.isForEveryone)
            {
                changed(to: grant)
            }
            guard machine.isBinding, let history else { return }
            _ = try await history.catchUp()
            let file =
                bind.needsIdent
                ? try await opening { try await history.tables.makeFile(of: claims.user, in: key) } : nil
            perform(machine.bound(file))
        }
    }

    func identify(_ frame: IdentFrame) throws(FrameError) { perform(try machine.identify(frame)) }

    // MARK: The grant

    private func heard(_ grant: Grant) {
        guard !machine.isOver else { return }
        let effect = self.grant.hear(
            Access(grant.access), version: grant.version, expires: grant.expires, isForEveryone: grant.isForEveryone)
        switch effect {
        case .none: break
        case .replaced: changed(to: grant)
        // The rules aren't the same for all users any more: the client asks again, and gets a grant, or a refusal, of its own.
        case .lapsed: refuse("it is decided anew who may open the partition")
        }
    }

    private func changed(to grant: Grant) {
        access = Access(grant.access)
        if access != .none, let expiry = grant.expires { connection.shard.expiries.renew(self, before: expiry) }
        perform(machine.permitted(toRead: access != .none, toWrite: access == .write, now))
    }

    var heldGrant: StandingGrant? { machine.isOver || access == .none ? nil : grant }

    var grantKey: ExactText {
        ExactText(GrantsEvent.key(app: connection.app, user: connection.claims.user, partition: partition))
    }

    var wallTime: Int64 { context.wallTime }

    func askForGrant() {
        let claims = connection.claims
        context.downloads.grants.askInBackground(
            app: connection.app, user: claims.user, partition: partition, claims: RuleUser(claims).claims)
    }

    /// The gateway's lease, or the grant, has expired or is valid again.
    func rightsChanged() {
        guard !machine.isOver else { return }
        wake()
        // What was queued before is sent soon, or the socket is reset.
        if !holds { connection.whenDrained {} }
    }

    private var holds: Bool { grant.holds(leaseIsValid: context.lease.mayServe(), now: wallTime) }

    private var now: SessionStateMachine.Circumstances {
        .init(
            mayServe: access != .none && holds, hasRoom: connection.hasRoom)
    }

    // MARK: What the client sends

    func upload(_ frame: UploadFrame) throws(FrameError) {
        guard try machine.expectsMessages() else { return }
        guard connection.takeUpload(frame.body.size) else {
            return fail(Self.later("the gateway has too many uploads in memory"))
        }
        machine.upload(frame)
        // After what else has been received with it, so that all of it is integrated together.
        guard !isWakingForUploads else { return }
        isWakingForUploads = true
        loop.execute { [self] in beginUploads() }
    }

    private func beginUploads() {
        guard isWakingForUploads else { return }
        isWakingForUploads = false
        wake()
    }

    func mark(_ request: UInt64) throws(FrameError) {
        guard try machine.expectsMessages() else { return }
        history?.changed()
        perform(try machine.mark(request, now))
    }

    func unbind() {
        beginUploads()
        perform(machine.unbind())
    }

    /// Documents of the partition have changed.
    func received(_ frame: ChangeFeed.Frame) {
        history?.changed(upTo: frame.to)
        wake()
    }

    /// There is something to do, or may be.
    func wake() { perform(machine.wake(now)) }

    /// Ends without a word.
    func stop() {
        beginUploads()
        perform(machine.stop())
    }

    private func fail(_ error: SessionError) { perform(machine.fail(error)) }

    /// Isn't served now.
    func refuse(_ message: String) { fail(Self.later(message)) }

    var isOver: Bool { machine.isOver }

    // MARK: What is to be done

    /// - Parameter body: That of the download among them.
    private func perform(
        _ actions: [SessionStateMachine.Action], body: (DownloadFrame) -> FrameBody = { $0.body() }
    ) {
        var released = 0
        for action in actions {
            switch action {
            case .send(.download(let download)): connection.send(download, body(download))
            case .send(let frame): connection.send(frame)
            case .fail(let error): send(error)
            case .work(let work): run { [self] in try await perform(work) }
            case .enter(let file): enter(file)
            case .scheduleProgress: scheduleProgress()
            case .release(let bytes): released += bytes
            case .leave(let version): leave(noting: version)
            }
        }
        // At last: it may bring the next upload.
        if released > 0 { connection.uploadEnded(released) }
    }

    private func enter(_ file: ClientFile) {
        history?.view.withLock { $0.memory.keep(file) }
        guard connection.hub.take(file.number, of: key, for: self) else {
            return connection.fail(.boundInOtherSession, "another session of the connection has the client's file")
        }
        connection.shard.attach(self, to: key)
        isAttached = true
        perform(machine.entered(now))
    }

    private func scheduleProgress() {
        let timer = LoopTimer(loop) { [self] in
            progressTimer?.close()
            progressTimer = nil
            perform(machine.progressDue(now))
        }
        timer.start(ms: Self.progressPause)
        progressTimer = timer
    }

    private func perform(_ work: SessionStateMachine.Work) async throws {
        guard let history else { return }
        switch work {
        case .begin(let frame): try await begin(frame, history)
        case .note(let version):
            if let file = machine.file { try await history.note(version, of: file) }
            perform(machine.noted(version, now))
        case .integrate(let upload, let bytes):
            defer { connection.uploadEnded(bytes) }
            try await integrate(upload, history)
        case .read: try await read(history)
        }
    }

    private func begin(_ frame: IdentFrame, _ history: RealmHistory) async throws {
        let key = key, tables = history.tables, number = Int64(clamping: frame.fileIdent)
        // Before it is known what the history has: what the client needs isn't trimmed from now on.
        if frame.downloadServerVersion == 0 {
            try await history.makeSnapshotIfWorthwhile(within: RealmHistory.snapshotPatience)
        }
        let user = connection.claims.user
        try await opening {
            try await tables.begin(number, salt: Int64(clamping: frame.fileIdentSalt), of: user, in: key)
        }
        history.changed()
        let standing = try await history.catchUp()
        let (file, salts, passed) = try await opening { () -> (ClientFile?, [Int64: Int64], Int64?) in
            guard let file = try await tables.file(number, of: key) else { return (nil, [:], nil) }
            let versions = [frame.latestServerVersion, frame.downloadServerVersion].map { Int64(clamping: $0) }
            var passed: Int64?
            // The client may not have got to know yet what became of its last uploads.
            if versions[1] < file.uploaded {
                passed = try await tables.acknowledged(of: file.number, at: versions[1], in: key)
            }
            return (file, try await tables.salts(of: versions.filter { $0 > 0 }, for: file, in: key), passed)
        }
        perform(machine.began(frame, file, in: standing, salts: salts, passed: passed))
    }

    /// Asks Postgres what a session needs to begin, in the user's turn. It doesn't include what may take long.
    private func opening<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        let app = ExactText(connection.app), user = ExactText(connection.claims.user), path = context.downloads
        try await path.openings.enter(app, member: user)
        defer { path.openings.leave(app, member: user) }
        guard !machine.isOver else { throw RealmRefusal.busy }
        return try await body()
    }

    private func integrate(_ upload: RealmUpload, _ history: RealmHistory) async throws {
        let begin = ContinuousClock.now
        var integration = try await history.integrate(upload)
        if case RealmRefusal.lacking(let classes, let message)? = integration.failure {
            integration.failure = try await develop(classes, message)
        }
        connection.hub.grown(key, by: self)
        // What leads to a reset may have read much, and the client may do it again.
        let isReset = if case RealmRefusal.reset? = integration.failure { true } else { false }
        connection.charge(isReset ? ContinuousClock.now - begin : integration.work)
        GatewayMetrics.uploadSeconds.record(ContinuousClock.now - begin)
        perform(machine.integrated(integration, failure: integration.failure.map(error), now))
    }

    /// Has the app's schemas changed if it is in development mode.
    /// - Parameter message: What the app's schema lacks.
    /// - Returns: What the client is told: to try again, or why not.
    private func develop(_ classes: ObjectSchema, _ message: String) async throws -> RealmRefusal {
        let isInDevelopment = context.apps.app(connection.app)?.definition.sync?.isInDevelopment ?? false
        guard isInDevelopment else { return .schema(message) }
        guard access == .write else { return .schema("\(message), and only a user who may write can add it") }
        let refusal = try await context.schemas.add(classes, of: connection.claims.user, to: connection.app)
        return refusal.map { .schema("\(message), and development mode can't add it: \($0)") } ?? .busy
    }

    private func read(_ history: RealmHistory) async throws {
        let standing = try await history.catchUp()
        let version = try machine.position(in: standing)
        guard let file = machine.file else { return }
        // What all who follow the history are sent, and needs no memory of its own worth mentioning.
        if let known = history.knownEntries(after: version, for: file), known.bytes <= Self.largeBytes {
            return try await send(known, to: file, in: standing, history)
        }
        connection.read(partition) { [self] in startReading(history) }
    }

    /// Reads what may be much, when the connection has room for it.
    private func startReading(_ history: RealmHistory) {
        guard !machine.isOver else { return connection.readEnded() }
        run { [self] in
            defer { connection.readEnded() }
            // It may be longer by now.
            let standing = try await history.catchUp()
            let version = try machine.position(in: standing)
            guard let file = machine.file else { return }
            try await send(try await entries(after: version, for: file, history), to: file, in: standing, history)
        }
    }

    /// The entries after a version, read in the user's turn.
    private func entries(
        after version: Int64, for file: ClientFile, _ history: RealmHistory
    ) async throws -> HistoryPart {
        if let known = history.knownEntries(after: version, for: file) { return known }
        let app = ExactText(connection.app), user = ExactText(connection.claims.user), path = context.downloads
        try await path.reads.enter(app, member: user, isCounted: false)
        defer { path.reads.leave(app, member: user) }
        guard !machine.isOver else { return .none }
        return try await history.entries(after: version, for: file)
    }

    private func send(
        _ part: HistoryPart, to file: ClientFile, in standing: HistoryStanding, _ history: RealmHistory
    ) async throws {
        let key = SharedBodies.Key(part, for: file.number, clientVersion: machine.downloadedClientVersion)
        let large = try await largeBody(of: part, key, in: standing, history)
        perform(machine.read(part, in: standing, now)) { large ?? history.bodies.body(of: $0, key) }
    }

    /// The bytes of changesets from which on they are compressed before they are sent.
    private static let largeBytes = 64 << 10

    /// The body of the download that comes next, if it is large: it isn't made on the loop then.
    private func largeBody(
        of part: HistoryPart, _ key: SharedBodies.Key?, in standing: HistoryStanding, _ history: RealmHistory
    ) async throws -> FrameBody? {
        if let key, let known = history.bodies.body(key) { return known }
        guard part.bytes > Self.largeBytes else { return nil }
        var copy = machine
        for case .send(.download(let download)) in copy.read(part, in: standing, now) {
            return try await history.body(of: download, key, for: connection.claims.user)
        }
        return nil
    }

    // MARK: The end

    private func send(_ error: SessionError) {
        context.logger.debug(
            "a Realm session ends",
            metadata: [
                "connection.id": "\(connection.id)", "partition.id": "\(partition)",
                "error.code": "\(error.code.rawValue)", "error": "\(error.message)",
            ])
        GatewayMetrics.refusals["realm-\(error.code.rawValue)"].increment()
        var error = error
        error.isRecoveryDisabled = context.apps.app(connection.app)?.definition.sync?.isRecoveryDisabled ?? false
        connection.send(.error(session: number, error))
    }

    func hasSameConnection(as other: RealmSession) -> Bool { connection === other.connection }

    func hasNewerConnection(than other: RealmSession) -> Bool { connection.opened > other.connection.opened }

    /// The client has another connection for its file.
    func dropConnection() { connection.drop() }

    /// - Parameter version: The one up to which the client has the history, so that what is before it can be trimmed.
    private func leave(noting version: Int64?) {
        if isAttached { connection.shard.detach(self, from: key) }
        isAttached = false
        progressTimer?.close()
        progressTimer = nil
        if let version, let history, let file = machine.file {
            // Without it, more is kept than is needed.
            Task { try? await history.note(version, of: file) }
        }
        connection.hub.close(key, file: machine.file?.number, by: self)
        guard let following else { return }
        self.following = nil
        connection.whenDrained(isUrgent: false) { [context] in context.downloads.grants.stop(following) }
    }

    /// Runs asynchronous work and returns to the loop. A failure ends the session.
    private func run(_ work: @escaping @Sendable () async throws -> Void) {
        // Short: it ends with what the session has to do, and has no effect when that has ended meanwhile.
        Task(executorPreference: loop.taskExecutor) { [self] in
            do { try await work() } catch { perform(machine.failed(self.error(error))) }
        }
    }

    /// What a client is told of a failure.
    private func error(_ failure: any Error) -> SessionError {
        switch failure {
        case let refusal as RealmRefusal: return refusal.error
        case let exceeded as QuestionBudget.Exceeded: return Self.later(exceeded.message)
        default:
            let path = context.downloads
            let isNew = path.failures.withLock { $0.isNew("\(failure)", again: .seconds(10)) }
            path.logger.log(
                level: isNew ? .warning : .debug, "a partition can't be served to a Realm client",
                metadata: ["partition.id": "\(partition)", "error": "\(failure)"])
            return Self.later("the partition can't be served now")
        }
    }

    private static func later(_ message: String) -> SessionError {
        var error = SessionError(.sessionClosed, message, action: .transient, triesAgain: true)
        error.backoff = .init(seconds: 2, maximumSeconds: 300, multiplier: 2)
        return error
    }
}

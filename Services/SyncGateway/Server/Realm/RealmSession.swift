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

/// A partition that a Realm client has open.
///
/// `@unchecked Sendable`: confined to the loop of its connection.
final class RealmSession: FeedFollower, @unchecked Sendable {
    private enum Phase { case binding, bound, active, failed, ended }

    let number: UInt64
    var slot: Int?
    private let bind: BindFrame
    private let connection: RealmConnection
    private var partition = Partition.null
    private var history: RealmHistory?
    private var phase = Phase.binding
    private var isAttached = false
    /// What came before the session was bound.
    private var early: IdentFrame?
    private var hasIdent = false
    private var file: RealmTables.File?
    private var grant = StandingGrant()
    private var access = Access.none
    private var following: GrantBook.Following?
    private var expiryTimer: LoopTimer?

    /// Up to where the client has the history, and its own versions there.
    private var downloaded: (server: UInt64, client: UInt64) = (0, 0)
    /// What is acknowledged.
    private var acknowledged: (client: UInt64, base: UInt64) = (0, 0)
    /// How far the client says that it is, if that isn't noted yet.
    private var progress: RealmUpload.Progress?
    private var progressTimer: LoopTimer?
    private var hasSent = false
    private var owesAcknowledgement = false
    private var owesProgress = false
    private var marks: [UInt64] = []
    private var uploads: [UploadFrame] = []
    private var isWorking = false
    /// Whether there may be something to send.
    private var isStale = false

    private static let maximumMarks = 1000
    /// The bytes of uploads that are integrated together.
    private static let batchBytes = 1 << 20
    /// The pause before it is noted how far a client is that has nothing to upload, in milliseconds: many clients receive each change.
    private static let progressPause: UInt64 = 10_000

    init(_ bind: BindFrame, connection: RealmConnection) {
        self.bind = bind
        self.connection = connection
        number = bind.session
    }

    var loop: EventLoop { connection.loop }
    private var key: PartitionKey { PartitionKey(app: connection.app, partition: partition) }
    private var context: GatewayContext { connection.context }

    // MARK: The beginning

    func start() {
        guard let path = String(validating: bind.path, as: UTF8.self), let value = try? ExtendedJSON.parse(path),
            let partition = Partition(value: value), !partition.isInternal, !partition.text.utf8.contains(0),
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
            guard phase == .binding else { return }
            guard let grant else { throw RealmRefusal.busy }
            if self.grant.take(version: grant.version, expires: grant.expires) { changed(to: grant) }
            guard phase == .binding, let history else { return }
            _ = try await history.catchUp()
            if bind.needsIdent {
                let file = try await history.tables.makeFile(of: claims.user, in: key)
                guard phase == .binding else { return }
                connection.send(
                    .ident(session: number, fileIdent: UInt64(file.number), salt: UInt64(file.salt)))
            }
            phase = .bound
            if let early { begin(early) }
        }
    }

    func identify(_ frame: IdentFrame) throws(FrameError) {
        if phase == .failed || phase == .ended { return }
        guard !hasIdent else { throw FrameError(.badMessageOrder, at: 0, "a second IDENT in the session") }
        hasIdent = true
        switch phase {
        case .binding: early = frame
        case .bound: begin(frame)
        case .active, .failed, .ended: break
        }
    }

    private func begin(_ frame: IdentFrame) {
        early = nil
        run { [self] in
            guard phase == .bound, let history else { return }
            let key = key, tables = history.tables, number = Int64(clamping: frame.fileIdent)
            // Before it is known what the history has: what the client needs isn't trimmed from now on.
            if frame.downloadServerVersion == 0 { try await history.makeSnapshotIfWorthwhile() }
            try await tables.begin(number, in: key)
            history.changed()
            let standing = try await history.catchUp()
            guard let file = try await tables.file(number, of: key),
                UInt64(file.salt) == frame.fileIdentSalt, file.user.hasSameBytes(as: connection.claims.user)
            else { throw RealmRefusal.reset(.badClientFileIdent, "the server doesn't know the client's file") }
            let latest = max(frame.latestServerVersion, frame.downloadServerVersion)
            guard latest <= UInt64(standing.version),
                frame.downloadServerVersion == 0
                    ? file.canBegin(in: standing)
                    : file.canContinue(after: Int64(clamping: frame.downloadServerVersion), in: standing)
            else {
                throw RealmRefusal.reset(.badServerVersion, "the client has versions that the server doesn't have")
            }
            if frame.latestServerVersion > 0 {
                let salt = try await tables.salt(of: Int64(frame.latestServerVersion), for: file, in: key)
                guard salt == Int64(clamping: frame.latestServerVersionSalt) else {
                    throw RealmRefusal.reset(.divergingHistories, "the client has another history than the server")
                }
            }
            guard frame.downloadClientVersion <= UInt64(file.clientVersion) else {
                throw RealmRefusal.reset(.badClientVersion, "the server doesn't have the client's version")
            }
            guard phase == .bound else { return }
            history.memory.withLock { $0.keep(file) }
            self.file = file
            downloaded = (frame.downloadServerVersion, frame.downloadClientVersion)
            acknowledged = (UInt64(file.clientVersion), UInt64(file.uploadBase))
            guard connection.hub.take(file.number, of: key, for: self) else {
                return connection.fail(.boundInOtherSession, "another session of the connection has the client's file")
            }
            phase = .active
            connection.shard.attach(self, to: key)
            isAttached = true
            wake()
        }
    }

    // MARK: The grant

    private func heard(_ grant: Grant) {
        guard phase != .ended, self.grant.hear(Access(grant.access), version: grant.version, expires: grant.expires)
        else { return }
        changed(to: grant)
    }

    private func changed(to grant: Grant) {
        access = Access(grant.access)
        expiryTimer?.close()
        expiryTimer = nil
        guard access != .none else {
            return fail(
                SessionError(
                    .permissionDenied, "the user may not read the partition", action: .applicationBug,
                    triesAgain: false))
        }
        if let expiry = grant.expires { scheduleRenewal(at: expiry) }
        wake()
    }

    /// The grant is asked for again before it expires; until there is an answer, nothing is sent after the expiry.
    private func scheduleRenewal(at expiry: Int64) {
        let timer = LoopTimer(loop) { [self] in
            guard phase != .ended, phase != .failed else { return }
            let claims = connection.claims
            context.downloads.grants.askInBackground(
                app: connection.app, user: claims.user, partition: partition, claims: RuleUser(claims).claims)
            scheduleRenewal(at: context.wallTime + 2 * Self.renewalLead)
        }
        timer.start(ms: UInt64(max(1, expiry - Self.renewalLead - context.wallTime)))
        expiryTimer?.close()
        expiryTimer = timer
    }

    private static let renewalLead: Int64 = 2000

    private var mayServe: Bool {
        access != .none && grant.holds(leaseIsValid: context.lease.mayServe(), now: context.wallTime)
    }

    // MARK: What the client sends

    func upload(_ frame: UploadFrame) throws(FrameError) {
        if phase == .failed || phase == .ended { return }
        try requireIdent()
        guard connection.takeUpload(frame.body.size) else {
            return fail(Self.later("the gateway has too many uploads in memory"))
        }
        uploads.append(frame)
        wake()
    }

    func mark(_ request: UInt64) throws(FrameError) {
        if phase == .failed || phase == .ended { return }
        try requireIdent()
        guard marks.count < Self.maximumMarks else {
            throw FrameError(.otherError, at: 0, "the session has more than \(Self.maximumMarks) open MARKs")
        }
        marks.append(request)
        history?.changed()
        wake()
    }

    /// A client sends these only after `IDENT`, but doesn't wait for an answer in between.
    private func requireIdent() throws(FrameError) {
        guard hasIdent else { throw FrameError(.badMessageOrder, at: 0, "the session has no IDENT yet") }
    }

    func unbind() {
        if phase != .failed, phase != .ended { connection.send(.unbound(session: number)) }
        stop()
    }

    // MARK: Work

    func received(_ frame: ChangeFeed.Frame) {
        history?.changed(upTo: frame.to)
        wake()
    }

    /// There is something to do, or may be.
    func wake() {
        guard phase == .active else { return }
        isStale = true
        if isWorking { return }
        isWorking = true
        run { [self] in
            defer { isWorking = false }
            while phase == .active, isStale || !uploads.isEmpty {
                if owesProgress { try await note() }
                if uploads.isEmpty {
                    isStale = false
                    guard try await download() else { return }
                } else {
                    try await integrate()
                }
            }
        }
    }

    /// Integrates the uploads that wait, or the first of them, together.
    private func integrate() async throws {
        var frames: [UploadFrame] = [], bytes = 0
        while let next = uploads.first, frames.isEmpty || bytes + next.body.size <= Self.batchBytes {
            bytes += next.body.size
            frames.append(uploads.removeFirst())
        }
        defer { connection.uploadEnded(bytes) }
        guard let history, let file, let last = frames.last else { return }
        guard frames.allSatisfy({ $0.progressServerVersion <= downloaded.server }) else {
            throw RealmRefusal.reset(.badServerVersion, "the client has versions that it wasn't sent")
        }
        let progress = RealmUpload.Progress(
            clientVersion: Int64(clamping: last.progressClientVersion),
            serverVersion: Int64(last.progressServerVersion))
        var changesets: [UploadedChangeset] = []
        do throws(FrameError) {
            for frame in frames { changesets += try frame.changesets() }
        } catch {
            if owesAcknowledgement { _ = try await download() }
            return fail(SessionError(.badChangeset, error.message, action: .clientReset, triesAgain: false))
        }
        if changesets.isEmpty { return noteSoon(progress) }
        isStale = true
        let begin = ContinuousClock.now
        let upload = RealmUpload(
            changesets: changesets, progress: progress, file: file.number, user: connection.claims.user,
            mayWrite: access == .write)
        // Not on the loop, which serves others: it may be much to merge.
        let integration = try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await history.integrate(upload)
        }
        connection.hub.grown(key, by: self)
        connection.charge(integration.work)
        GatewayMetrics.uploadSeconds.record(ContinuousClock.now - begin)
        guard phase == .active else { return }
        if integration.clientVersion > 0 { acknowledge(integration.clientVersion, integration.uploadBase) }
        for write in integration.refused {
            var error = SessionError(
                .compensatingWrite, "a write was refused and is undone", action: .warning, triesAgain: true)
            error.compensatingWrite = write
            connection.send(.error(session: number, error))
        }
        if let failure = integration.failure {
            // Before the end: what isn't acknowledged, a client uploads again after its reset.
            if owesAcknowledgement { _ = try await download() }
            throw failure
        }
        // If the history has all of the changesets already, the progress isn't noted with them.
        noteSoon(progress)
    }

    private func noteSoon(_ progress: RealmUpload.Progress) {
        guard UInt64(progress.clientVersion) > acknowledged.client || UInt64(progress.serverVersion) > acknowledged.base
        else { return }
        self.progress = progress
        guard progressTimer == nil else { return }
        let timer = LoopTimer(loop) { [self] in
            progressTimer?.close()
            progressTimer = nil
            owesProgress = true
            wake()
        }
        timer.start(ms: Self.progressPause)
        progressTimer = timer
    }

    private func note() async throws {
        owesProgress = false
        guard let progress, let history, let file else { return }
        self.progress = nil
        try await history.note(progress, of: file.number)
        acknowledge(progress.clientVersion, progress.serverVersion)
    }

    /// The next download acknowledges what the client has up to a version, based on a version of the history.
    private func acknowledge(_ client: Int64, _ base: Int64) {
        acknowledged = (max(acknowledged.client, UInt64(client)), max(acknowledged.base, UInt64(base)))
        owesAcknowledgement = true
    }

    /// Notes how far the client was, so that the history before that can be trimmed.
    private func noteAtTheEnd() {
        guard let progress, let history, let file else { return }
        self.progress = nil
        // Without it, more is kept than is needed.
        Task { try? await history.note(progress, of: file.number) }
    }

    /// Sends what the client doesn't have, or a part of it.
    /// - Returns: false if nothing may be sent now; something else wakes the session then.
    private func download() async throws -> Bool {
        guard mayServe, connection.hasRoom, let history, let file else { return false }
        let answered = marks.count
        let standing = try await history.catchUp()
        if downloaded.server == 0 { downloaded.server = UInt64(file.beginning(of: standing)) }
        guard file.canContinue(after: Int64(downloaded.server), in: standing) else {
            throw RealmRefusal.reset(.badServerVersion, "the history has begun anew")
        }
        let entries = try await history.entries(after: Int64(downloaded.server), for: file)
        guard phase == .active, mayServe else { return phase == .active }
        guard
            entries.first.map({ UInt64($0.version) == downloaded.server + 1 })
                ?? (standing.version <= downloaded.server)
        else {
            throw RealmRefusal.reset(.clientFileExpired, "the history doesn't reach back to the client's version")
        }
        let end = UInt64(entries.last?.version ?? Int64(downloaded.server))
        if !entries.isEmpty || owesAcknowledgement || !hasSent {
            let part = ServerHistory(
                baseVersion: downloaded.server, entries: entries.map { $0.seen(by: file.number) },
                client: UInt64(file.number), clientVersion: downloaded.client)
            var download = part.download(for: UInt64(file.number), after: downloaded.server, maximumBytes: .max)
            acknowledged.client = max(acknowledged.client, download.clientVersion)
            download.uploadClientVersion = acknowledged.client
            let salt = entries.last?.salt
            let known =
                salt == nil && end > 0 ? try await history.tables.salt(of: Int64(end), for: file, in: key) : salt
            guard phase == .active, mayServe else { return phase == .active }
            connection.send(
                .download(
                    DownloadFrame(
                        session: number, changesets: download, latestServerVersion: end,
                        latestServerVersionSalt: UInt64(known ?? 0), uploadServerVersion: acknowledged.base)),
                sharing: history.bodies)
            downloaded = (download.serverVersion, download.clientVersion)
            hasSent = true
            owesAcknowledgement = false
        }
        if end < UInt64(standing.version) {
            isStale = true
            return true
        }
        for request in marks.prefix(answered) { connection.send(.mark(session: number, request: request)) }
        marks.removeFirst(min(answered, marks.count))
        return true
    }

    // MARK: The end

    private func fail(_ error: SessionError) {
        guard phase != .failed, phase != .ended else { return }
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
        leave()
        phase = .failed
    }

    /// Ends without a word.
    func stop() {
        if phase == .ended { return }
        leave()
        phase = .ended
    }

    func hasSameConnection(as other: RealmSession) -> Bool { connection === other.connection }

    func hasNewerConnection(than other: RealmSession) -> Bool { connection.opened > other.connection.opened }

    /// The client has another connection for its file.
    func dropConnection() { connection.drop() }

    private func leave() {
        if isAttached { connection.shard.detach(self, from: key) }
        isAttached = false
        expiryTimer?.close()
        expiryTimer = nil
        progressTimer?.close()
        progressTimer = nil
        noteAtTheEnd()
        connection.hub.close(key, file: file?.number, by: self)
        for frame in uploads { connection.uploadEnded(frame.body.size) }
        uploads = []
        guard let following else { return }
        self.following = nil
        connection.whenDrained { [context] in context.downloads.grants.stop(following) }
    }

    /// Runs asynchronous work and returns to the loop. A failure ends the session.
    private func run(_ work: @escaping @Sendable () async throws -> Void) {
        // Short: it ends with what the session has to do, and has no effect when that has ended meanwhile.
        Task(executorPreference: loop.taskExecutor) { [self] in
            do {
                try await work()
            } catch let refusal as RealmRefusal {
                fail(refusal.error)
            } catch let exceeded as QuestionBudget.Exceeded {
                fail(Self.later(exceeded.message))
            } catch {
                let path = context.downloads
                let isNew = path.failures.withLock { $0.isNew("\(error)", again: .seconds(10)) }
                path.logger.log(
                    level: isNew ? .warning : .debug, "a partition can't be served to a Realm client",
                    metadata: ["partition.id": "\(partition)", "error": "\(error)"])
                fail(Self.later("the partition can't be served now"))
            }
        }
    }

    private static func later(_ message: String) -> SessionError {
        var error = SessionError(.sessionClosed, message, action: .transient, triesAgain: true)
        error.backoff = .init(seconds: 2, maximumSeconds: 300, multiplier: 2)
        return error
    }
}

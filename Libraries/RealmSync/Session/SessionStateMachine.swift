import DocumentModel

/// A session of a Realm client: a partition that the client has open. It decides what is done when, and does nothing itself.
///
/// Each call returns what has to be done, in this order. One ``Work`` is done at a time: its end is told, and what comes next is decided
/// then.
package struct SessionStateMachine: Sendable {
    /// What has to be done.
    package enum Action: Sendable {
        case send(ServerFrame)
        /// The session ends with an error, which is sent.
        case fail(SessionError)
        case work(Work)
        /// The client's file is the session's, if no other session has it; ``entered(_:)`` says so.
        case enter(ClientFile)
        /// After a pause, ``progressDue(_:)`` is called.
        case scheduleProgress
        /// Uploads of this size don't wait any more.
        case release(bytes: Int)
        /// The session is over. The version up to which the client has the history, if that isn't noted yet.
        case leave(noting: Int64?)
    }

    /// What takes time.
    package enum Work: Sendable {
        /// Reads what there is of the client's file, for ``began(_:_:in:salts:passed:)``.
        case begin(IdentFrame)
        /// Notes up to which version the client has the history, for ``noted(_:_:)``.
        case note(Int64)
        /// Integrates uploads of a size, for ``integrated(_:failure:_:)``.
        case integrate(RealmUpload, bytes: Int)
        /// Reads what the client doesn't have, for ``read(_:in:_:)``: from ``position(in:)`` on.
        case read
    }

    /// What counts when something is sent.
    package struct Circumstances: Sendable {
        /// Whether the client's right to read stands.
        package let mayServe: Bool
        /// Whether there is room for another download in what waits to be sent.
        package let hasRoom: Bool

        package init(mayServe: Bool, hasRoom: Bool) {
            self.mayServe = mayServe
            self.hasRoom = hasRoom
        }
    }

    private enum Phase { case binding, bound, active, failed, ended }

    let number: UInt64
    let user: String
    let knowsCompensatingWrites: Bool
    private var phase = Phase.binding
    /// What came before the session was bound.
    private var early: IdentFrame?
    private var hasIdent = false
    package private(set) var file: ClientFile?
    private(set) var mayWrite = false
    private var isWorking = false
    /// How many times in a row uploads were integrated.
    private var integrations = 0
    /// After so many times something is sent first: a client that uploads without a pause would never be told what it has uploaded.
    private static let integrationsInARow = 4
    /// Whether there may be something to send.
    var isStale = false
    /// What ends the session after what is integrated was acknowledged: what isn't acknowledged, a client uploads again after its reset.
    var ending: SessionError?

    // What is to be sent.
    /// Up to where the client has the history, and its own versions there.
    var downloaded = HistoryPosition(version: 0, salt: nil)
    package var downloadedClientVersion: UInt64 = 0
    /// The client's newest version that was integrated, and the version of the history that it is based on.
    var integrated: (client: UInt64, base: UInt64) = (0, 0)
    /// The client's newest version that is acknowledged. It is acknowledged with the client's changeset in what the client is sent: so a
    /// restored database that doesn't have the changeset any more doesn't have the client's state, either, and the client begins anew.
    /// Later versions in which it had nothing to upload aren't acknowledged: a restored database may not know of that, and a client
    /// stops for good when less is acknowledged than before.
    var acknowledged: UInt64 = 0
    var hasSent = false
    var marks: [UInt64] = []
    /// How many of the marks came before the read that is under way.
    var answering = 0

    // What the client has sent.
    var uploads: [UploadFrame] = []
    /// The version up to which the client says that it has the history, if that isn't noted yet.
    var progress: Int64?
    /// The same, of the upload that is being integrated.
    var reached: Int64 = 0
    /// What is noted of it.
    private var noted: Int64 = 0
    private var isProgressScheduled = false
    private var owesProgress = false

    private static let maximumMarks = 1000

    /// A session that is being bound.
    /// - Parameters:
    ///   - number: The session's number in its connection.
    ///   - version: That of the connection's protocol.
    package init(number: UInt64, user: String, version: Int = RealmProtocol.versions.upperBound) {
        self.number = number
        self.user = user
        knowsCompensatingWrites = version >= RealmProtocol.firstWithCompensatingWrites
    }

    /// Whether nothing is sent or done any more.
    package var isOver: Bool { phase == .failed || phase == .ended }
    /// Whether the session waits until it is known what its user may.
    package var isBinding: Bool { phase == .binding }
    var isActive: Bool { phase == .active }

    // MARK: The beginning

    /// The session can begin.
    /// - Parameter file: The client's new file, if it needs one.
    package mutating func bound(_ file: ClientFile?) -> [Action] {
        guard phase == .binding else { return [] }
        phase = .bound
        var actions: [Action] = []
        if let file {
            actions.append(
                .send(.ident(session: number, fileIdent: UInt64(file.number), salt: UInt64(file.salt))))
        }
        if let early { actions.append(.work(.begin(early))) }
        early = nil
        return actions
    }

    /// The client says what it has.
    /// - Throws: `FrameError` if it has said so.
    package mutating func identify(_ frame: IdentFrame) throws(FrameError) -> [Action] {
        if isOver { return [] }
        guard !hasIdent else { throw FrameError(.badMessageOrder, at: 0, "a second IDENT in the session") }
        hasIdent = true
        if phase == .bound { return [.work(.begin(frame))] }
        early = frame
        return []
    }

    /// It is known what there is of the client's file.
    /// - Parameters:
    ///   - file: The file; `nil` if there is none of its number.
    ///   - salts: The secrets of the newest version that the client knows and of that up to which it has the history, if there
    ///     are such versions.
    ///   - passed: What is acknowledged with the client's newest changeset in what it has; `nil` if there is none any more.
    package mutating func began(
        _ frame: IdentFrame, _ file: ClientFile?, in standing: HistoryStanding, salts: [Int64: Int64], passed: Int64?
    ) -> [Action] {
        guard phase == .bound else { return [] }
        do throws(RealmRefusal) {
            let file = try Self.check(frame, file, of: user, in: standing, salts: salts)
            self.file = file
            let version = Int64(frame.downloadServerVersion)
            downloaded = HistoryPosition(version: version, salt: salts[version])
            downloadedClientVersion = frame.downloadClientVersion
            integrated = (UInt64(file.clientVersion), UInt64(file.uploadBase))
            noted = max(file.base, file.uploadBase)
            acknowledged = UInt64(
                file.acknowledged(upTo: version, newest: Int64(frame.downloadClientVersion), passed: passed))
            return [.enter(file)]
        } catch {
            return fail(error.error)
        }
    }

    /// - Throws: ``RealmRefusal`` if what the client has isn't a state of the history, or no longer.
    private static func check(
        _ frame: IdentFrame, _ file: ClientFile?, of user: String, in standing: HistoryStanding, salts: [Int64: Int64]
    ) throws(RealmRefusal) -> ClientFile {
        guard let file, UInt64(file.salt) == frame.fileIdentSalt, file.user.hasSameBytes(as: user) else {
            throw .reset(.badClientFileIdent, "the server doesn't know the client's file")
        }
        guard max(frame.latestServerVersion, frame.downloadServerVersion) <= UInt64(standing.version) else {
            throw .reset(.badServerVersion, "the client has versions that the server doesn't have")
        }
        guard
            frame.downloadServerVersion == 0
                ? file.canBegin(in: standing)
                : file.canContinue(after: Int64(clamping: frame.downloadServerVersion), in: standing)
        else {
            throw .reset(.badServerVersion, "the history doesn't reach back to what the client has any more")
        }
        if frame.latestServerVersion > 0 {
            guard salts[Int64(frame.latestServerVersion)] == Int64(clamping: frame.latestServerVersionSalt) else {
                throw .anotherHistory
            }
        }
        guard frame.downloadClientVersion <= UInt64(file.clientVersion) else {
            throw .reset(.badClientVersion, "the server doesn't have the client's version")
        }
        return file
    }

    /// The client's file is the session's.
    package mutating func entered(_ now: Circumstances) -> [Action] {
        guard phase == .bound, file != nil else { return [] }
        phase = .active
        return wake(now)
    }

    /// What the user may do now.
    package mutating func permitted(toRead mayRead: Bool, toWrite mayWrite: Bool, _ now: Circumstances) -> [Action] {
        if isOver { return [] }
        self.mayWrite = mayWrite
        if mayRead { return wake(now) }
        return fail(
            SessionError(
                .permissionDenied, "the user may not read the partition", action: .applicationBug, triesAgain: false))
    }

    // MARK: What the client sends

    /// Whether the client's next message is for a session that goes on.
    /// - Throws: `FrameError` before `IDENT`: a client doesn't wait for an answer to that, but sends it first.
    package func expectsMessages() throws(FrameError) -> Bool {
        if isOver { return false }
        guard hasIdent else { throw FrameError(.badMessageOrder, at: 0, "the session has no IDENT yet") }
        return true
    }

    /// What was uploaded is integrated when the session is woken.
    package mutating func upload(_ frame: UploadFrame) { uploads.append(frame) }

    /// - Throws: `FrameError` if there are too many.
    package mutating func mark(_ request: UInt64, _ now: Circumstances) throws(FrameError) -> [Action] {
        guard marks.count < Self.maximumMarks else {
            throw FrameError(.otherError, at: 0, "the session has more than \(Self.maximumMarks) open MARKs")
        }
        marks.append(request)
        return wake(now)
    }

    /// After an error that was sent to it, a client doesn't wait for an answer.
    package mutating func unbind() -> [Action] {
        (phase == .failed ? [] : [.send(.unbound(session: number))]) + stop()
    }

    // MARK: Work

    /// There is something to do, or may be.
    package mutating func wake(_ now: Circumstances) -> [Action] {
        guard phase == .active else { return [] }
        isStale = true
        return next(now)
    }

    /// Work has ended.
    mutating func continues(_ now: Circumstances) -> [Action] {
        isWorking = false
        return next(now)
    }

    private mutating func next(_ now: Circumstances) -> [Action] {
        var actions: [Action] = []
        while phase == .active, !isWorking {
            if owesProgress {
                owesProgress = false
                guard let progress else { continue }
                self.progress = nil
                actions.append(begin(.note(progress)))
            } else if let ending {
                guard acknowledged < integrated.client, now.mayServe else { return actions + fail(ending) }
                // Otherwise the session is woken when there is room.
                guard now.hasRoom else { break }
                actions.append(begin(.read))
            } else if !uploads.isEmpty, integrations < Self.integrationsInARow || !isStale {
                integrations += 1
                actions += takeUploads()
            } else {
                integrations = 0
                guard isStale else { break }
                isStale = false
                // If not, something else wakes the session.
                if now.mayServe, now.hasRoom { actions.append(begin(.read)) }
            }
        }
        return actions
    }

    mutating func begin(_ work: Work) -> Action {
        isWorking = true
        switch work {
        case .read: answering = marks.count
        case .integrate: isStale = true
        case .begin, .note: break
        }
        return .work(work)
    }

    /// Work has failed.
    package mutating func failed(_ error: SessionError) -> [Action] {
        isWorking = false
        return fail(error)
    }

    /// Everything that there is was sent.
    mutating func atEnd() -> [Action] {
        if let ending { return fail(ending) }
        defer { marks.removeFirst(min(answering, marks.count)) }
        return marks.prefix(answering).map { .send(.mark(session: number, request: $0)) }
    }

    // MARK: How far the client is

    /// It is noted late: many clients receive each change.
    mutating func noteSoon(_ version: Int64) -> [Action] {
        guard version > max(noted, Int64(integrated.base)) else { return [] }
        progress = version
        if isProgressScheduled { return [] }
        isProgressScheduled = true
        return [.scheduleProgress]
    }

    package mutating func progressDue(_ now: Circumstances) -> [Action] {
        isProgressScheduled = false
        owesProgress = true
        return wake(now)
    }

    package mutating func noted(_ version: Int64, _ now: Circumstances) -> [Action] {
        noted = max(noted, version)
        return continues(now)
    }

    // MARK: The end

    /// Ends with an error.
    package mutating func fail(_ error: SessionError) -> [Action] {
        if isOver { return [] }
        phase = .failed
        return [.fail(error)] + leave()
    }

    /// Ends without a word.
    package mutating func stop() -> [Action] {
        if isOver { return [] }
        phase = .ended
        return leave()
    }

    private mutating func leave() -> [Action] {
        defer { (uploads, progress) = ([], nil) }
        return [.release(bytes: uploads.reduce(0) { $0 + $1.body.size }), .leave(noting: progress)]
    }
}

import DocumentModel
import RealmSync

extension RealmSimulation {
    /// Does the next part of a session's work.
    @discardableResult
    mutating func advance(_ number: Int, of gateway: Int) -> Bool {
        guard let session = gateways[gateway].sessions[number] else { return false }
        if session.isProgressScheduled, isSettling || self.number(0..<4) == 0 {
            gateways[gateway].sessions[number]?.isProgressScheduled = false
            decide(number, of: gateway) { machine, now in machine.progressDue(now) }
            return true
        }
        // One change of the history at a time.
        guard let job = session.job, !(job.looksAtHistory && gateways[gateway].integration != nil) else { return false }
        if case .integrate = job { return false }
        gateways[gateway].sessions[number]?.job = nil
        switch job {
        case .bind: bind(session, gateway)
        case .begin(let frame):
            database.begin(Int64(clamping: frame.fileIdent))
            gateways[gateway].view.tail.request()
            guard let standing = catchUp(gateway) else { return tryAgain(number, gateway) }
            gateways[gateway].sessions[number]?.job = .identify(frame, standing)
        case .identify(let frame, let standing):
            let file = database.file(Int64(clamping: frame.fileIdent))
            let versions = [frame.latestServerVersion, frame.downloadServerVersion].map { Int64(clamping: $0) }
            let salts = file.map { database.salts(of: versions.filter { $0 > 0 }, for: $0) } ?? [:]
            let passed = database.acknowledged(
                of: Int64(clamping: frame.fileIdent), at: Int64(clamping: frame.downloadServerVersion))
            decide(number, of: gateway) { machine, _ in
                machine.began(frame, file, in: standing, salts: salts, passed: passed)
            }
        case .note(let version):
            if let file = session.machine.file {
                database.note(version, of: file)
                if var known = gateways[gateway].view.memory.file(file.number) {
                    known.reach(version)
                    gateways[gateway].view.memory.keep(known)
                }
            }
            decide(number, of: gateway) { machine, now in machine.noted(version, now) }
        case .integrate: break
        case .integrated(let integration):
            for other in gateways[gateway].numbers where other != number { wake(other, of: gateway) }
            let failure = integration.failure.map {
                ($0 as? RealmRefusal)?.error
                    ?? SessionError(.badChangeset, "\($0)", action: .clientReset, triesAgain: false)
            }
            decide(number, of: gateway) { machine, now in machine.integrated(integration, failure: failure, now) }
        case .read:
            guard let standing = catchUp(gateway) else { return tryAgain(number, gateway) }
            var machine = session.machine
            do throws(RealmRefusal) {
                let version = try machine.position(in: standing)
                gateways[gateway].sessions[number]?.machine = machine
                gateways[gateway].sessions[number]?.job = .readEntries(standing, after: version)
            } catch {
                let failure = error.error
                decide(number, of: gateway) { machine, _ in machine.failed(failure) }
            }
        case .readEntries(let standing, let version):
            guard let file = session.machine.file else { break }
            let isInSnapshot = file.snapshot.map { version < $0.version } ?? false
            let known = isInSnapshot ? nil : gateways[gateway].view.tail.entries(after: version)
            let limit = self.number(1..<4)
            let part = known ?? database.part(after: version, for: file, limit: limit)
            if known == nil, !isInSnapshot { gateways[gateway].view.tail.saw(part) }
            gateways[gateway].sessions[number]?.job = .haveRead(part, standing)
        case .haveRead(let part, let standing):
            decide(number, of: gateway) { machine, now in machine.read(part, in: standing, now) }
        }
        return true
    }

    private mutating func bind(_ session: SimulatedRealmSession, _ gateway: Int) {
        let mayWrite = database.mayWrite[session.user]
        gateways[gateway].sessions[session.number]?.mayRead = mayWrite != nil
        decide(session.number, of: gateway) { machine, now in
            machine.permitted(toRead: mayWrite != nil, toWrite: mayWrite ?? false, now)
        }
        if mayWrite == nil { return }
        guard catchUp(gateway) != nil else { return _ = tryAgain(session.number, gateway) }
        let file = session.needsFile ? database.makeFile(of: session.user) : nil
        decide(session.number, of: gateway) { machine, _ in machine.bound(file) }
    }

    // MARK: What a gateway reads

    /// The gateway has an older version of the app than the history: clients come again.
    private mutating func tryAgain(_ number: Int, _ gateway: Int) -> Bool {
        decide(number, of: gateway) { machine, _ in machine.failed(RealmRefusal.busy.error) }
        return true
    }

    /// What others have done is in the history then.
    /// - Returns: `nil` if the gateway can't do that.
    private mutating func catchUp(_ gateway: Int) -> HistoryStanding? {
        if gateways[gateway].view.tail.standing == nil { gateways[gateway].view.tail.request() }
        if let standing = gateways[gateway].view.tail.current { return standing }
        let request = gateways[gateway].view.tail.lastRequest, end = gateways[gateway].view.tail.end
        guard let standing = absorb(gateway) else { return nil }
        let new = database.entries(after: end.map { min($0, standing.version) } ?? standing.version - 1)
        gateways[gateway].view.tail.take(standing, new, for: request)
        return standing
    }

    /// - Returns: `nil` if the history is another version's of the app than the gateway knows.
    mutating func absorb(_ gateway: Int) -> HistoryStanding? {
        let app = gateways[gateway].app
        if database.standing.appVersion > app.version { return nil }
        var former = database.standing
        if let addition = database.update(to: app, at: time) {
            gateways[gateway].view.absorbed(addition, after: former)
            former = database.standing
        }
        if let addition = database.absorb(app, at: time) { gateways[gateway].view.absorbed(addition, after: former) }
        return database.standing
    }

    mutating func file(_ number: Int64, _ gateway: Int) -> ClientFile? {
        if let known = gateways[gateway].view.memory.file(number) { return known }
        let file = database.file(number)
        if let file { gateways[gateway].view.memory.keep(file) }
        return file
    }
}

extension SimulatedRealmSession.Job {
    /// Whether it waits until nothing is being integrated.
    fileprivate var looksAtHistory: Bool {
        switch self {
        case .bind, .begin, .read: true
        default: false
        }
    }
}

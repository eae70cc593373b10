import DocumentModel
import RealmSync

extension RealmSimulation {
    private func now(_ number: Int, of gateway: Int) -> SessionStateMachine.Circumstances {
        gateways[gateway].sessions[number]?.now(leaseIsValid: gateways[gateway].leaseIsValid)
            ?? .init(mayServe: false, hasRoom: false)
    }

    /// Lets a session's machine decide, and does what it says.
    private mutating func decide(
        _ number: Int, of gateway: Int,
        _ body: (inout SessionStateMachine, SessionStateMachine.Circumstances) throws(FrameError) ->
            [SessionStateMachine.Action]
    ) {
        let now = now(number, of: gateway)
        guard var machine = gateways[gateway].sessions[number]?.machine else { return }
        do throws(FrameError) {
            let actions = try body(&machine, now)
            gateways[gateway].sessions[number]?.machine = machine
            for action in actions { perform(action, number, gateway) }
        } catch {
            fail("a gateway refuses a message: \(error.message)")
        }
    }

    private mutating func perform(_ action: SessionStateMachine.Action, _ number: Int, _ gateway: Int) {
        switch action {
        case .send(let frame):
            if case .download = frame { checkDownload(number, gateway) }
            send(frame, number, gateway)
        case .fail(let error): send(.error(session: 1, error), number, gateway)
        case .work(let work):
            if gateways[gateway].sessions[number]?.job != nil { fail("two works at a time") }
            gateways[gateway].sessions[number]?.job =
                switch work {
                case .begin(let frame): .begin(frame)
                case .note(let version): .note(version)
                case .integrate(let upload, _): .integrate(upload, isAlone: false)
                case .read: .read
                }
        case .enter(let file): enter(file, number, gateway)
        case .scheduleProgress: gateways[gateway].sessions[number]?.isProgressScheduled = true
        case .release: break
        case .leave(let version):
            gateways[gateway].sessions[number]?.isProgressScheduled = false
            guard let version, let file = gateways[gateway].sessions[number]?.machine.file else { return }
            database.note(version, of: file)
        }
    }

    private mutating func checkDownload(_ number: Int, _ gateway: Int) {
        guard let session = gateways[gateway].sessions[number] else { return }
        if !session.now(leaseIsValid: gateways[gateway].leaseIsValid).mayServe {
            fail("a download is sent while nothing may be served")
        }
        let waiting = session.toClient.count { $0.starts(with: "download".utf8) }
        // One more may have been asked for when the last one wasn't queued yet.
        if waiting > SimulatedRealmSession.window + 1 { fail("a client that doesn't read is sent more") }
    }

    private mutating func send(_ frame: ServerFrame, _ number: Int, _ gateway: Int) {
        guard let bytes = frame.encoded(version: 14, deflate: { _ in nil }) else { return }
        if gateways[gateway].sessions[number]?.isLost == false {
            gateways[gateway].sessions[number]?.toClient.append(bytes)
        }
    }

    /// Of two connections of a client, the older one is lost.
    private mutating func enter(_ file: ClientFile, _ number: Int, _ gateway: Int) {
        gateways[gateway].view.memory.keep(file)
        for (other, session) in gateways[gateway].sessions
        where other != number && session.hasFile && session.machine.file?.number == file.number {
            if other > number { return stop(number, of: gateway) }
            stop(other, of: gateway)
        }
        gateways[gateway].sessions[number]?.hasFile = true
        decide(number, of: gateway) { machine, now in machine.entered(now) }
    }

    /// The gateway ends a connection.
    mutating func stop(_ number: Int, of gateway: Int) {
        decide(number, of: gateway) { machine, _ in machine.stop() }
        gateways[gateway].sessions[number] = nil
    }

    mutating func wake(_ number: Int, of gateway: Int) {
        decide(number, of: gateway) { machine, now in machine.wake(now) }
    }

    // MARK: Messages

    @discardableResult
    mutating func deliver(toGatewayOf client: Int) -> Bool {
        // Also what came over connections that the client has lost.
        for gateway in gateways.indices {
            for number in gateways[gateway].numbers where gateways[gateway].sessions[number]?.client == client {
                guard let session = gateways[gateway].sessions[number] else { continue }
                if session.toGateway.isEmpty {
                    guard session.isLost else { continue }
                    stop(number, of: gateway)
                    return true
                }
                let bytes = gateways[gateway].sessions[number]?.toGateway.removeFirst() ?? []
                handle(bytes, number, gateway)
                return true
            }
        }
        return false
    }

    private mutating func handle(_ bytes: [UInt8], _ number: Int, _ gateway: Int) {
        let frame: ClientFrame
        do { frame = try ClientFrame(bytes) } catch { return fail("a message can't be read: \(error)") }
        switch frame {
        case .bind(let bind):
            gateways[gateway].sessions[number]?.needsFile = bind.needsIdent
            gateways[gateway].sessions[number]?.job = .bind
        case .ident(let ident):
            decide(number, of: gateway) { machine, _ throws(FrameError) in try machine.identify(ident) }
        case .upload(let upload):
            decide(number, of: gateway) { machine, now throws(FrameError) in
                try machine.expectsMessages() ? machine.upload(upload, now) : []
            }
        case .mark(_, let request):
            gateways[gateway].sessions[number]?.marks[request] = database.head.number
            gateways[gateway].view.tail.request()
            decide(number, of: gateway) { machine, now throws(FrameError) in
                try machine.expectsMessages() ? try machine.mark(request, now) : []
            }
        case .unbind, .ping, .error: fail("a client sends \(frame)")
        }
    }

    mutating func deliverHead(_ gateway: Int) -> Bool {
        guard !gateways[gateway].heads.isEmpty else { return false }
        let head = gateways[gateway].heads.removeFirst()
        if head.epoch != gateways[gateway].epoch { leaveEpoch(gateway, for: head.epoch) }
        gateways[gateway].view.tail.request(upTo: head)
        for number in gateways[gateway].numbers { wake(number, of: gateway) }
        return true
    }

    /// All sessions end, and with them what is known of the history.
    private mutating func leaveEpoch(_ gateway: Int, for epoch: Int32) {
        for number in gateways[gateway].numbers { stop(number, of: gateway) }
        gateways[gateway].view = HistoryView()
        gateways[gateway].integration?.isOrphan = true
        gateways[gateway].epoch = epoch
        if isTraced { trace.append("gateway \(gateway) sees the epoch \(epoch)") }
    }

    mutating func deliverGrant(_ gateway: Int) -> Bool {
        guard !gateways[gateway].grants.isEmpty else { return false }
        let grant = gateways[gateway].grants.removeFirst()
        for number in gateways[gateway].numbers {
            guard let session = gateways[gateway].sessions[number], session.user == grant.user, session.job.isBound
            else { continue }
            gateways[gateway].sessions[number]?.mayRead = grant.mayRead
            decide(number, of: gateway) { machine, now in
                machine.permitted(toRead: grant.mayRead, toWrite: grant.mayWrite, now)
            }
            if !grant.mayRead, gateways[gateway].sessions[number]?.machine.isOver == false {
                fail("a session goes on without a right")
            }
        }
        return true
    }

    // MARK: What a gateway reads

    /// What others have done is in the history then.
    private mutating func catchUp(_ gateway: Int) -> HistoryStanding {
        if gateways[gateway].view.tail.standing == nil { gateways[gateway].view.tail.request() }
        if let standing = gateways[gateway].view.tail.current { return standing }
        let request = gateways[gateway].view.tail.lastRequest, end = gateways[gateway].view.tail.end
        let standing = absorb(gateway)
        let new = database.entries(after: end.map { min($0, standing.version) } ?? standing.version - 1)
        gateways[gateway].view.tail.take(standing, new, for: request)
        return standing
    }

    private mutating func absorb(_ gateway: Int) -> HistoryStanding {
        let former = database.standing
        if let addition = database.absorb(at: time) { gateways[gateway].view.absorbed(addition, after: former) }
        return database.standing
    }

    private mutating func file(_ number: Int64, _ gateway: Int) -> ClientFile? {
        if let known = gateways[gateway].view.memory.file(number) { return known }
        let file = database.file(number)
        if let file { gateways[gateway].view.memory.keep(file) }
        return file
    }

    // MARK: Work

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
            let standing = catchUp(gateway)
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
            let standing = catchUp(gateway)
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
        _ = catchUp(gateway)
        let file = session.needsFile ? database.makeFile(of: session.user) : nil
        decide(session.number, of: gateway) { machine, _ in machine.bound(file) }
    }

    // MARK: Uploads

    /// Does the next part of the integration of uploads: takes some that wait and merges them, reads their objects, commits them.
    @discardableResult
    mutating func integrate(_ gateway: Int) -> Bool {
        guard var integration = gateways[gateway].integration else { return beginIntegration(gateway) }
        do {
            if let merge = integration.merge {
                integration.merge = nil
                try plan(merge, &integration, gateway)
                gateways[gateway].integration = integration
            } else {
                try commit(integration, gateway)
                gateways[gateway].integration = nil
            }
        } catch {
            gateways[gateway].integration = nil
            end(integration, with: error, gateway)
        }
        return true
    }

    private mutating func beginIntegration(_ gateway: Int) -> Bool {
        var numbers: [Int] = [], uploads: [RealmUpload] = []
        for number in gateways[gateway].numbers {
            guard case .integrate(let upload, let isAlone) = gateways[gateway].sessions[number]?.job else { continue }
            if uploads.contains(where: { $0.file == upload.file || !$0.mayWrite }) { continue }
            if !uploads.isEmpty, isAlone || !upload.mayWrite { continue }
            numbers.append(number)
            uploads.append(upload)
            if isAlone { break }
        }
        if uploads.isEmpty { return false }
        if uploads.count > 1 { note(.together) }
        let standing = gateways[gateway].view.tail.current ?? absorb(gateway)
        var integration = SimulatedRealmGateway.Integration(
            sessions: numbers, uploads: uploads, planned: PlannedUploads(after: standing),
            request: gateways[gateway].view.tail.lastRequest)
        integration.refusal = uploads[0].mayWrite ? nil : "the user may not write in the partition"
        do {
            integration.merge = try merge(uploads[0], after: integration.planned, gateway)
            gateways[gateway].integration = integration
        } catch { end(integration, with: error, gateway) }
        return true
    }

    private mutating func merge(
        _ upload: RealmUpload, after planned: PlannedUploads, _ gateway: Int
    ) throws -> UploadMerge {
        guard let file = file(upload.file, gateway) else {
            throw RealmRefusal.reset(.badClientFileIdent, "the server doesn't know the client's file")
        }
        if let first = upload.changesets.first, first.clientVersion <= UInt64(file.clientVersion) {
            note(.uploadedAgain)
        }
        var merge = try UploadMerge(upload, of: file, after: planned)
        guard let base = merge.base else { return merge }
        let isInSnapshot = file.snapshot.map { base < $0.version } ?? false
        let known =
            isInSnapshot
            ? nil : gateways[gateway].view.tail.entries(after: base, upTo: planned.standing)
        let entries = known ?? database.entries(after: base, for: file)
        let reciprocals =
            base == planned.standing.version
            ? [:] : (database.reciprocals[file.number] ?? [:]).filter { $0.key > UInt64(base) }
        try merge.merge(entries, reciprocals: reciprocals)
        return merge
    }

    /// Plans the first upload, and merges and plans the others.
    private mutating func plan(
        _ merge: UploadMerge, _ integration: inout SimulatedRealmGateway.Integration, _ gateway: Int
    ) throws {
        var merge = merge
        for place in integration.uploads.indices {
            if place > 0 { merge = try self.merge(integration.uploads[place], after: integration.planned, gateway) }
            let standing = integration.planned.standing
            var found =
                integration.isOrphan ? [:] : gateways[gateway].view.memory.objects(merge.needed, at: standing.salt)
            let missing = merge.needed.filter { found[$0] == nil }
            if !missing.isEmpty {
                guard database.standing.salt == standing.salt else { throw RealmRefusal.busy }
                let new = Dictionary(uniqueKeysWithValues: missing.map { ($0, database.objects[$0]) })
                found.merge(new) { $1 }
                if !integration.isOrphan { gateways[gateway].view.memory.keep(new, at: standing.salt) }
            }
            integration.planned.append(
                try UploadPlan(
                    merge, to: found.compactMapValues(\.self), database.schema, SimulatedHistory.target,
                    refusal: integration.refusal, at: time))
        }
    }

    private mutating func commit(_ integration: SimulatedRealmGateway.Integration, _ gateway: Int) throws {
        let planned = integration.planned
        if !planned.entries.isEmpty {
            let written = planned.objects.filter { key, change in
                database.schema.write(key, from: change.former, to: change.object) != nil
            }.sorted { $0.key.place < $1.key.place }
            let addition = planned.addition(writing: written.map { ($0.key.table, $0.key.idText) })
            let before = database.documents
            if isTraced {
                trace.append("gateway \(gateway) adds \(planned.entries.map(\.version)) of \(integration.sessions)")
            }
            let reached = try database.commit(
                addition, planned.standing, writing: written.map { ($0.key, $0.value.object) })
            for upload in integration.uploads { checkPosition(of: upload) }
            for (key, change) in written where !same(before[key], change.former) {
                fail("an upload has overwritten \(before[key] ?? [:]), which it took for \(change.former ?? [:])")
            }
            if integration.isOrphan { return }
            gateways[gateway].view.committed(
                addition, after: planned.standing, reaching: reached, request: integration.request)
        }
        for (number, plan) in zip(integration.sessions, planned.plans) {
            var result = RealmUpload.Integration()
            result.take(plan)
            gateways[gateway].sessions[number]?.job = .integrated(result)
        }
    }

    /// What a client uploads that has another history must not count: when it begins anew, it uploads that again.
    private mutating func checkPosition(of upload: RealmUpload) {
        guard let known = upload.position.salt, let file = database.file(upload.file), file.snapshot == nil,
            let entry = database.entries.first(where: { $0.version == upload.position.version })
        else { return }
        if entry.salt != known { fail("an upload of a client with another history counts") }
    }

    private func same(_ a: Document?, _ b: Document?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.isIdentical(to: b)
    }

    /// Each is integrated alone then, or once more, or not at all.
    private mutating func end(
        _ integration: SimulatedRealmGateway.Integration, with error: any Error, _ gateway: Int
    ) {
        let hasMoved =
            database.standing.version != integration.planned.standing.version
            || database.standing.salt != integration.planned.standing.salt
            || database.head != integration.planned.standing.revision
        var mayWrite = integration.uploads.first?.mayWrite ?? true, failure: (any Error)?
        if isTraced { trace.append("gateway \(gateway) can't integrate \(integration.sessions): \(error)") }
        switch error {
        case SimulatedHistory.CommitError.lostRace, RealmRefusal.busy: note(.lostRace)
        case SimulatedHistory.CommitError.forbidden: mayWrite = integration.uploads.count > 1
        default: failure = integration.uploads.count > 1 || hasMoved ? nil : error
        }
        if !integration.isOrphan { gateways[gateway].view.forget() }
        for (number, upload) in zip(integration.sessions, integration.uploads) {
            var result = RealmUpload.Integration()
            result.failure = failure
            var again = upload
            again.mayWrite = upload.mayWrite && mayWrite
            gateways[gateway].sessions[number]?.job =
                failure == nil ? .integrate(again, isAlone: true) : .integrated(result)
        }
    }
}

extension SimulatedRealmSession.Job? {
    /// Whether it is known what the user may.
    fileprivate var isBound: Bool {
        if case .bind = self { return false }
        return true
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

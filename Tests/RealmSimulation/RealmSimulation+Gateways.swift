import DocumentModel
import RealmSync

extension RealmSimulation {
    private func now(_ number: Int, of gateway: Int) -> SessionStateMachine.Circumstances {
        gateways[gateway].sessions[number]?.now(leaseIsValid: gateways[gateway].leaseIsValid)
            ?? .init(mayServe: false, hasRoom: false)
    }

    /// Lets a session's machine decide, and does what it says.
    mutating func decide(
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
            // As the gateway does, which integrates together what it receives together.
            let isLast = gateways[gateway].sessions[number]?.toGateway.isEmpty ?? true
            decide(number, of: gateway) { machine, now throws(FrameError) in
                guard try machine.expectsMessages() else { return [] }
                machine.upload(upload)
                return isLast ? machine.wake(now) : []
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
}

extension SimulatedRealmSession.Job? {
    /// Whether it is known what the user may.
    fileprivate var isBound: Bool {
        if case .bind = self { return false }
        return true
    }
}

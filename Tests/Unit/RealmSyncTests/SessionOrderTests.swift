import DocumentModel
import RealmSync
import Testing

/// In which order a session works.
struct SessionOrderTests {
    private let now = SessionStateMachine.Circumstances(mayServe: true, hasRoom: true)

    /// A session that has sent all there is: nothing.
    private func session() throws -> SessionStateMachine {
        var machine = SessionStateMachine(number: 1, user: "ann")
        let file = ClientFile(number: 7, salt: 5, user: "ann")
        _ = machine.bound(nil)
        guard case .ident(let ident) = try ClientFrame(Array("ident 1 7 5 0 0 0 0\n".utf8)) else {
            throw FrameError(.otherError, at: 0, "no IDENT")
        }
        _ = try machine.identify(ident)
        _ = machine.began(ident, file, in: .empty, salts: [:], passed: nil)
        _ = machine.permitted(toRead: true, toWrite: true, now)
        #expect(works(machine.entered(now)) == ["read"])
        #expect(works(machine.read(.none, in: .empty, now)) == [])
        return machine
    }

    /// A short text for each work.
    private func works(_ actions: [SessionStateMachine.Action]) -> [String] {
        actions.compactMap { action in
            switch action {
            case .work(.integrate): "integrate"
            case .work(.read): "read"
            default: nil
            }
        }
    }

    private func upload(_ version: Int, to machine: inout SessionStateMachine) throws {
        let body = "\(version) 0 0 0 1 x"
        let frame = try ClientFrame(Array("upload 1 0 \(body.utf8.count) 0 \(version) 0 0\n\(body)".utf8))
        guard case .upload(let upload) = frame else { throw FrameError(.otherError, at: 0, "no UPLOAD") }
        machine.upload(upload)
    }

    @Test func `a client that uploads without a pause is sent what there is, too`() throws {
        var machine = try session(), done: [String] = []
        try upload(1, to: &machine)
        done += works(machine.wake(now))
        for version in 2...20 {
            // The next one is there before the last one is integrated.
            try upload(version, to: &machine)
            var integration = RealmUpload.Integration()
            integration.clientVersion = Int64(version - 1)
            done += works(
                done.last == "read"
                    ? machine.read(.none, in: .empty, now) : machine.integrated(integration, failure: nil, now))
        }
        let runs = done.split(separator: "read").map(\.count)
        #expect(runs.count >= 3 && runs.allSatisfy { $0 <= 4 }, "\(done)")
    }
}

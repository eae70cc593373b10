import DocumentModel
import SyncEngine
import Testing

struct SubscriptionTests {
    private func revision(_ number: Int64) -> Revision { Revision(epoch: 1, number: number) }

    private func frame(_ from: Int64, _ to: Int64, bytes: Int = 1) -> LiveFrame<Int64> {
        LiveFrame(from: revision(from), to: revision(to), byteCount: bytes, payload: to)
    }

    private func chunk(_ from: Int64, _ to: Int64, head: Int64, bytes: Int = 1) -> CatchUpChunk<Int64> {
        CatchUpChunk(
            from: revision(from), to: revision(to), head: revision(head), count: Int(to - from),
            remaining: Int(head - from), lastVersion: 3, epoch: 1, byteCount: bytes, payload: to)
    }

    /// A short text for each action.
    private func texts(_ actions: [SubscriptionStateMachine<Int64>.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .requestGrant: "grant?"
            case .sendSubscribed(let access, let head, _): "subscribed \(access) \(head.number)"
            case .sendAccess(let access): "access \(access)"
            case .sendSuspended: "suspended"
            case .sendUnavailable: "unavailable"
            case .attach: "attach"
            case .readChunk(let after, let counts): "\(counts ? "count" : "read") \(after.revision.number)"
            case .sendChunk(let chunk, let progress, _): "chunk \(chunk.to.number) \(progress.done)/\(progress.total)"
            case .sendFrame(let to): "frame \(to)"
            case .sendRevoked(let reason): "revoked \(reason)"
            case .detach: "detach"
            case .endSession: "end"
            }
        }
    }

    private func live(at number: Int64, window: Int = 100) -> SubscriptionStateMachine<Int64> {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(number)), epoch: 1, window: window)
        _ = machine.start()
        _ = machine.granted(.write)
        _ = machine.attached(queued: 0)
        _ = machine.chunkRead(chunk(number, number, head: number), queued: 0)
        return machine
    }

    @Test func `nothing is sent or read before the grant is known and the feed is attached`() {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(5)), epoch: 1, window: 100)
        #expect(texts(machine.start()) == ["grant?"])
        #expect(texts(machine.received(frame(5, 6), queued: 0)) == [])
        #expect(texts(machine.granted(.read)) == ["attach"])
        #expect(texts(machine.received(frame(6, 7), queued: 0)) == [])
        #expect(texts(machine.attached(queued: 0)) == ["count 5"])
    }

    @Test func `live frames continue the last chunk without a gap`() {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(0)), epoch: 1, window: 100)
        _ = machine.start()
        _ = machine.granted(.write)
        _ = machine.attached(queued: 0)
        #expect(
            texts(machine.chunkRead(chunk(0, 4, head: 9), queued: 0)) == [
                "subscribed write 9", "chunk 4 4/9", "read 4",
            ])
        _ = machine.received(frame(9, 10), queued: 0)
        _ = machine.received(frame(10, 12), queued: 0)
        // The snapshot already had revision 10.
        #expect(texts(machine.chunkRead(chunk(4, 10, head: 10), queued: 0)) == ["chunk 10 10/10", "frame 12"])
        #expect(machine.isLive)
        #expect(texts(machine.received(frame(12, 13), queued: 0)) == ["frame 13"])
        // Delivered again.
        #expect(texts(machine.received(frame(12, 13), queued: 0)) == [])
        #expect(machine.sentTo == revision(13))
    }

    @Test func `a gap in the feed is caught up`() {
        var machine = live(at: 5)
        #expect(texts(machine.received(frame(7, 8), queued: 0)) == ["count 5"])
        #expect(texts(machine.chunkRead(chunk(5, 8, head: 8), queued: 0)) == ["chunk 8 3/3"])
        #expect(machine.isLive)
    }

    @Test func `a frame of a history that a restore has ended isn't sent to who was served since`() {
        var machine = SubscriptionStateMachine<Int64>(
            from: ResumePoint(revision: revision(0)), epoch: 2, window: 100)
        _ = machine.start() + machine.granted(.read) + machine.attached(queued: 0)
        // Both of the lost history; the topic still had them.
        #expect(machine.received(frame(5, 6), queued: 0).isEmpty)
        let read = CatchUpChunk<Int64>(
            from: revision(0), to: revision(5), head: revision(5), count: 5, remaining: 5, lastVersion: 0, epoch: 2,
            byteCount: 1, payload: 0)
        #expect(texts(machine.chunkRead(read, queued: 0)).count == 2)
        #expect(machine.isLive)
        #expect(machine.received(frame(5, 7), queued: 0).isEmpty)
        #expect(machine.sentTo == revision(5))
    }

    @Test func `more live frames than can be held are fetched with another chunk`() {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(0)), epoch: 1, window: 10)
        _ = machine.start()
        _ = machine.granted(.write)
        _ = machine.attached(queued: 0)
        for number in 5..<40 as Range<Int64> { _ = machine.received(frame(number, number + 1), queued: 0) }
        #expect(texts(machine.chunkRead(chunk(0, 5, head: 5), queued: 0)).last == "count 5")
        #expect(texts(machine.chunkRead(chunk(5, 40, head: 40), queued: 0)) == ["chunk 40 35/35"])
        #expect(machine.isLive)
    }

    @Test func `beyond its window a slow device gets nothing until it has taken all, and then catches up`() {
        var machine = live(at: 5, window: 10)
        #expect(texts(machine.received(frame(5, 6, bytes: 4), queued: 0)) == ["frame 6"])
        #expect(texts(machine.received(frame(6, 7, bytes: 7), queued: 4)) == [])
        #expect(texts(machine.received(frame(7, 8, bytes: 1), queued: 4)) == [])
        #expect(texts(machine.drained()) == ["count 6"])
        #expect(texts(machine.chunkRead(chunk(6, 7, head: 8, bytes: 50), queued: 0)) == ["chunk 7 1/2"])
        #expect(texts(machine.drained()) == ["read 7"])
        #expect(texts(machine.drained()) == [])
    }

    @Test func `a frame larger than the window goes through an empty socket`() {
        var machine = live(at: 5, window: 10)
        #expect(texts(machine.received(frame(5, 6, bytes: 400), queued: 0)) == ["frame 6"])
    }

    @Test func `after a revocation there are no more actions`() {
        var machine = live(at: 5)
        #expect(texts(machine.revoked(reason: "notPermitted")) == ["detach", "revoked notPermitted"])
        #expect(machine.isClosed)
        #expect(texts(machine.received(frame(5, 6), queued: 0)) == [])
        #expect(texts(machine.chunkRead(chunk(5, 6, head: 6), queued: 0)) == [])
        #expect(texts(machine.drained() + machine.granted(.write) + machine.unsubscribe()) == [])
        #expect(texts(machine.revoked(reason: "again")) == [])
    }

    @Test func `a chunk that was read before a revocation isn't sent after it`() {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(0)), epoch: 1, window: 100)
        _ = machine.start()
        _ = machine.granted(.read)
        _ = machine.attached(queued: 0)
        _ = machine.granted(.none)
        #expect(texts(machine.chunkRead(chunk(0, 5, head: 5), queued: 0)) == [])
    }

    @Test func `a grant without access is a revocation, a change of access is reported`() {
        var refused = SubscriptionStateMachine<Int64>(from: .init(revision: revision(0)), epoch: 1, window: 100)
        _ = refused.start()
        #expect(texts(refused.granted(.none)) == ["detach", "revoked notPermitted"])
        var changed = live(at: 5)
        #expect(texts(changed.granted(.read)) == ["access read"])
        #expect(texts(changed.granted(.read)) == [])
    }

    @Test func `nothing is sent while it is suspended, and afterwards it catches up`() {
        var machine = live(at: 5)
        #expect(texts(machine.suspend()) == ["suspended"])
        #expect(texts(machine.suspend() + machine.received(frame(5, 6), queued: 0) + machine.drained()) == [])
        #expect(texts(machine.resume(queued: 0)) == ["count 5"])
        #expect(texts(machine.resume(queued: 0)) == [])
        // The chunk that was being read is discarded; otherwise it would be delivered twice.
        #expect(texts(machine.suspend()) == ["suspended"])
        #expect(texts(machine.resume(queued: 0)) == ["count 5"])
        #expect(texts(machine.chunkRead(chunk(5, 6, head: 6), queued: 0)) == [])
        #expect(texts(machine.chunkRead(chunk(5, 6, head: 6), queued: 0)) == ["chunk 6 1/1"])
    }

    @Test func `a partition that is opened while the gateway is suspended is read when it goes on`() {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(0)), epoch: 1, window: 100)
        #expect(texts(machine.suspend()) == ["suspended"])
        #expect(texts(machine.start() + machine.granted(.read) + machine.attached(queued: 0)) == ["grant?", "attach"])
        #expect(texts(machine.resume(queued: 0)) == ["count 0"])
        #expect(texts(machine.suspend() + machine.revoked(reason: "no")) == ["suspended", "detach", "revoked no"])
        #expect(texts(machine.resume(queued: 0)) == [])
    }

    @Test func `when permissions can't be decided the answer is no, for now`() {
        var machine = SubscriptionStateMachine<Int64>(from: .init(revision: revision(0)), epoch: 1, window: 100)
        _ = machine.start()
        #expect(texts(machine.grantUnavailable()) == ["unavailable", "detach"])
        #expect(machine.isClosed)
    }

    private func resume(_ history: EpochHistory, from epoch: Int32, _ number: Int64) -> String {
        let head = Revision(epoch: history.current, number: 200)
        return history.resumePoint(for: Revision(epoch: epoch, number: number), head: head).revision.description
    }

    @Test func `a checkpoint of a former epoch counts as far as the backup reached`() {
        let history = EpochHistory(current: 3, lastKept: [1: 100, 2: 150])
        #expect(resume(history, from: 3, 180) == "3.180")
        #expect(resume(history, from: 2, 150) == "2.150")
        #expect(resume(history, from: 1, 100) == "1.100")
        // From before the current epoch: a document that wasn't written since the restore has a revision of a former one.
        for (epoch, number) in [(1, 101), (2, 151), (3, 201), (4, 1), (0, 0), (1, 0), (2, 0), (3, 0)]
            as [(Int32, Int64)]
        {
            #expect(resume(history, from: epoch, number) == "0.0")
        }
    }

    @Test func `epochs that never existed are served from the start, and don't affect others`() {
        let history = EpochHistory(current: 179_000_000, lastKept: [1: 100, 2: 150])
        #expect(resume(history, from: 1, 100) == "1.100")
        #expect(resume(history, from: 2, 150) == "2.150")
        #expect(resume(history, from: 179_000_000, 200) == "179000000.200")
        for epoch: Int32 in [3, 4, 178_999_999, 179_000_001] {
            #expect(resume(history, from: epoch, 1) == "0.0", "\(epoch)")
        }
    }
}

import DocumentModel
import EventLoop
import SyncGateway
import Testing

/// The memory that catch-ups of many devices take together.
struct ChunkReadsTests {
    private let partition = Partition(text: "s:a")

    private func device(_ user: UInt64, _ budget: InflightBudget, reads: Int = 8) -> ChunkReads {
        var device = ChunkReads(window: 1 << 20, budget: budget)
        device.receiver = user
        for _ in 0..<reads { device.add(partition) {} }
        return device
    }

    private func isStart(_ step: ChunkReads.Step?) -> Bool { if case .start = step { true } else { false } }
    private func isWait(_ step: ChunkReads.Step?) -> Bool { if case .wait = step { true } else { false } }

    @Test func `devices that don't receive what was read exclude no other user's device`() {
        let budget = InflightBudget(limit: 64 << 20)
        // Twenty devices of one user, each with a document of 16 MiB in its socket.
        var slow = (0..<20).map { _ in device(1, budget) }
        var started = 0
        for index in slow.indices where isStart(slow[index].next(queued: 0)) {
            started += 1
            slow[index].end(queued: 16 << 20)
        }
        #expect(started == 2)
        #expect(isWait(slow[19].next(queued: 0)))
        var other = device(2, budget)
        for _ in 0..<ChunkReads.limit { #expect(isStart(other.next(queued: 0))) }
        // One of them ends: another one's turn comes.
        slow[0].close()
        slow[1].close()
        #expect(isStart(slow[19].next(queued: 0)))
    }

    @Test func `what a device has received is given back`() {
        let budget = InflightBudget(limit: 8 << 20)
        var first = device(1, budget)
        #expect(isStart(first.next(queued: 0)))
        first.end(queued: 8 << 20)
        if first.next(queued: 8 << 20) != nil { Issue.record("a read beyond the window") }
        var second = device(2, budget)
        #expect(isWait(second.next(queued: 0)))
        #expect(isStart(first.next(queued: 0)))
        #expect(isStart(second.next(queued: 0)))
    }

    @Test func `a read that ends after its connection leaves nothing charged`() {
        let budget = InflightBudget(limit: 2 << 20)
        var device = device(1, budget)
        #expect(isStart(device.next(queued: 0)))
        device.close()
        device.end(queued: 0)
        #expect(budget.take(2 << 20, of: 2) == nil)
    }
}

import DocumentStore
import EventLoop
import Functions
import TestSupport
import Testing

@Suite struct DocumentTurnsTests {
    private static let times = {
        var times = DocumentTurns.Times()
        times.slice = .milliseconds(200)
        times.longest = .milliseconds(400)
        return times
    }()

    @Test(arguments: [4, 12]) func `slow calls of many users don't keep others from their turns`(users: Int)
        async throws
    {
        let turns = DocumentTurns(connections: 8, times: Self.times)
        let (running, most, ended, begun) = (Locked(0), Locked(0), Locked(0), Locked(Set<Int>()))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<users {
                group.addTask {
                    while !Task.isCancelled {
                        do {
                            try await turns.perform(of: "slow \(number)", app: "a") {
                                let now = running.withLock {
                                    $0 += 1
                                    return $0
                                }
                                most.withLock { $0 = max($0, now) }
                                begun.withLock { _ = $0.insert(number) }
                                defer { running.withLock { $0 -= 1 } }
                                try await Task.sleep(for: .seconds(5))
                            }
                        } catch let error as DocumentStoreError {
                            #expect(error.code == .overloaded)
                            ended.withLock { $0 += 1 }
                        } catch is CancellationError {}
                    }
                }
            }
            try await eventually("slow calls run") { turns.running > 0 }
            try await turns.perform(of: "ann", app: "a") {}
            // Soon all of them are known.
            try await eventually("each has had its first call") { begun.withLock { $0.count } == users }
            // More than twice as long as a call may be among the quick ones.
            try await Task.sleep(for: .seconds(1))
            for _ in 0..<20 {
                let begin = ContinuousClock.now
                try await turns.perform(of: "ann", app: "a") {}
                #expect(ContinuousClock.now - begin < .milliseconds(500))
            }
            // Other apps have places as well, among both.
            try await turns.perform(of: "bob", app: "b") { try await Task.sleep(for: .seconds(1)) }
            group.cancelAll()
        }
        // A quarter of the connections is left for the service's own work.
        #expect(most.withLock { $0 } <= 6)
        #expect(ended.withLock { $0 } > 0)
    }

    @Test func `a slow call that nobody waits for goes on`() async throws {
        let turns = DocumentTurns(connections: 1, times: Self.times)
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The first moves to the slow ones, the second finds no place there.
            for user in ["ann", "bob"] {
                group.addTask { try await turns.perform(of: user, app: "a") { try await Task.sleep(for: .seconds(2)) } }
                try await Task.sleep(for: .milliseconds(300))
            }
            try await group.waitForAll()
        }
        // Who is known for slow calls waits for slow calls only, and is not ended.
        try await turns.perform(of: "ann", app: "a") { try await Task.sleep(for: .seconds(1)) }
        #expect(turns.running == 0)
    }
}

import EventLoop
import Testing
import Texts

@Suite struct FairGateTests {
    /// Long enough for a task to be refused, if it is.
    private let moment = Duration.milliseconds(5)

    @Test func `a task that finds no place waits for one, and places are returned`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 10)
        try await gate.enter("a")
        let order = Locked<[String]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for owner in ["a", "b"] {
                group.addTask {
                    try await gate.enter(owner)
                    order.withLock { $0.append(owner) }
                    gate.leave(owner)
                }
            }
            try await Task.sleep(for: .milliseconds(20))
            #expect(order.withLock { $0 }.isEmpty)
            gate.leave("a")
            try await group.waitForAll()
        }
        #expect(order.withLock { Set($0) } == ["a", "b"])
        #expect(gate.taken == 0)
    }

    @Test func `a task that waits for too long gets an error, and takes no place later`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 10)
        try await gate.enter("a")
        let refusal = await refusal { try await gate.enter("b", within: .milliseconds(10)) }
        #expect(refusal == .late)
        gate.leave("a")
        #expect(gate.taken == 0)
        try await gate.enter("c")
        gate.leave("c")
    }

    @Test func `a cancelled task takes no place`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 10)
        try await gate.enter("a")
        let waiting = Task { try await gate.enter("b") }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.leave("a")
        #expect(gate.taken == 0)
    }

    @Test func `a member's many waiting tasks leave room for another member's`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 10)
        try await gate.enter("app", member: "mallory")
        let waiting = await tasks(of: ["mallory", "mallory"], waitingAt: gate)
        #expect(await refusal { try await gate.enter("app", member: "mallory", within: moment) } == .full)
        #expect(await refusal { try await gate.enter("app", member: "mia", within: moment) } == .late)
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        gate.leave("app", member: "mallory")
        #expect(gate.taken == 0)
    }

    @Test func `those who fill the room don't keep out who has nothing waiting`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 4, waitingPerMember: 4)
        try await gate.enter("app", member: "mallory")
        var waiting = await tasks(of: ["mallory", "mallory", "mallory", "mallory"], waitingAt: gate)
        #expect(await refusal { try await gate.enter("app", member: "mallory", within: moment) } == .full)
        #expect(await refusal { try await gate.enter("app", member: "mia", within: moment) } == .late, "she waits")
        waiting += await tasks(of: ["ann", "bob", "cleo", "dan"], waitingAt: gate)
        #expect(await refusal { try await gate.enter("app", member: "mia", within: moment) } == .full)
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        gate.leave("app", member: "mallory")
        #expect(gate.taken == 0)
    }

    @Test func `a closed gate admits no task`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 10)
        try await gate.enter("a")
        let waiting = Task { await refusal { try await gate.enter("b") } }
        gate.close()
        #expect(await waiting.value == .closed)
        #expect(await refusal { try await gate.enter("c") } == .closed)
    }

    /// Tasks that wait at the gate for as long as nobody leaves it, one of each member that is named.
    private func tasks(
        of members: [ExactText], waitingAt gate: FairGate<String>
    ) async -> [Task<Void, any Error>] {
        let before = gate.waiting(of: "app")
        let tasks = members.map { member in Task { try await gate.enter("app", member: member) } }
        while gate.waiting(of: "app") < before + members.count { await Task.yield() }
        return tasks
    }

    private func refusal(_ body: () async throws -> Void) async -> FairGate<String>.Refusal? {
        do {
            try await body()
            return nil
        } catch {
            return error as? FairGate<String>.Refusal
        }
    }
}

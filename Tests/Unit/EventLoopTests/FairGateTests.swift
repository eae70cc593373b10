import EventLoop
import Testing

@Suite struct FairGateTests {
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
        let waiting = (0..<2).map { _ in
            Task {
                // The attempts below wait as well, for moments, and may be the second one.
                while await self.refusal({ try await gate.enter("app", member: "mallory") }) == .full {
                    await Task.yield()
                }
            }
        }
        var refusal: FairGate<String>.Refusal?
        // Until both are waiting.
        while refusal != .full {
            refusal = await self.refusal { try await gate.enter("app", member: "mallory", within: .milliseconds(5)) }
        }
        #expect(await self.refusal { try await gate.enter("app", member: "mia", within: .milliseconds(5)) } == .late)
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        gate.leave("app", member: "mallory")
        #expect(gate.taken == 0)
    }

    @Test func `those who fill the room don't keep out who has nothing waiting`() async throws {
        let gate = FairGate<String>(places: 1, waiting: 4, waitingPerMember: 4)
        try await gate.enter("app", member: "mallory")
        var waiting = (0..<4).map { _ in Task { try await gate.enter("app", member: "mallory") } }
        let moment = Duration.milliseconds(5)
        // Until all are waiting.
        while await refusal({ try await gate.enter("app", member: "mallory", within: moment) }) != .full {}
        #expect(await refusal { try await gate.enter("app", member: "mia", within: moment) } == .late, "she waits")
        waiting += [
            Task { try await gate.enter("app", member: "ann") }, Task { try await gate.enter("app", member: "bob") },
            Task { try await gate.enter("app", member: "cleo") }, Task { try await gate.enter("app", member: "dan") },
        ]
        while await refusal({ try await gate.enter("app", member: "mia", within: moment) }) != .full {}
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

    private func refusal(_ body: () async throws -> Void) async -> FairGate<String>.Refusal? {
        do {
            try await body()
            return nil
        } catch {
            return error as? FairGate<String>.Refusal
        }
    }
}

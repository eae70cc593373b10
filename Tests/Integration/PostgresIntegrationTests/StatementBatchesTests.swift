import EventLoop
import Postgres
import Testing

@Suite struct StatementBatchesTests {
    private struct Bad: Error {}

    @Test func `what is asked for meanwhile is asked for together, and what one causes fails for it alone`()
        async throws
    {
        let asked = Locked<[[Int]]>([])
        let batches = StatementBatches<Int, Int>(limit: 50, concurrent: 1) { numbers in
            asked.withLock { $0.append(numbers) }
            try await Task.sleep(for: .milliseconds(5))  // as long as a statement takes, so that others ask meanwhile
            if numbers.contains(33) { throw Bad() }
            return numbers.map { $0 * 2 }
        } mayComeFromOne: {
            $0 is Bad
        }
        let answers = await withTaskGroup(of: (Int, Int?).self) { group in
            for number in 0..<100 { group.addTask { (number, try? await batches.answer(to: number)) } }
            return await group.reduce(into: [Int: Int?]()) { $0[$1.0] = $1.1 }
        }
        for number in 0..<100 { #expect(answers[number] == (number == 33 ? nil : number * 2) as Int?) }
        let counts = asked.withLock { $0.map(\.count) }
        #expect(counts.allSatisfy { $0 <= 50 } && counts.count < 100, "\(counts)")
        // Each time with half of the others, until it is alone.
        let bad = asked.withLock { $0.filter { $0.contains(33) }.map(\.count) }
        #expect(bad.last == 1)
        #expect(zip(bad, bad.dropFirst()).allSatisfy { $1 == $0 / 2 || $1 == ($0 + 1) / 2 }, "\(bad)")
    }

    @Test func `an error that none of them has caused is everybody's`() async throws {
        let asked = Locked<[Int]>([])
        let batches = StatementBatches<Int, Int>(concurrent: 1) { numbers in
            asked.withLock { $0 += numbers }
            try await Task.sleep(for: .milliseconds(5))  // as above
            throw PostgresError(.connectionLost, "gone")
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    await #expect(throws: PostgresError.self) { try await batches.answer(to: number) }
                }
            }
        }
        // Nobody's question is asked again.
        #expect(asked.withLock { $0.sorted() } == Array(0..<20))
    }
}

import EventLoop
import Postgres
import Testing

@Suite struct StatementBatchesTests {
    private struct Bad: Error {}

    @Test func `what is asked for meanwhile is asked for together, and what one causes fails for it alone`()
        async throws
    {
        let asked = Locked<[Int]>([])
        let batches = StatementBatches<Int, Int>(limit: 50, concurrent: 1) { numbers in
            asked.withLock { $0.append(numbers.count) }
            try await Task.sleep(for: .milliseconds(5))
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
        let counts = asked.withLock { $0 }
        // The first, three batches at most for the others, and twice the halves of one.
        #expect(counts.max() == 50)
        #expect(counts.count <= 20, "\(counts)")
    }

    @Test func `an error that none of them has caused is everybody's`() async throws {
        let count = Locked(0)
        let batches = StatementBatches<Int, Int>(concurrent: 1) { _ in
            count.withLock { $0 += 1 }
            try await Task.sleep(for: .milliseconds(20))
            throw PostgresError(.connectionLost, "gone")
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    await #expect(throws: PostgresError.self) { try await batches.answer(to: number) }
                }
            }
        }
        #expect(count.withLock { $0 } <= 2)
    }
}

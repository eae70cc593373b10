import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct GatheredReadsTests {
    @Test func `what is asked for during a read is read together`() async throws {
        try await withClient { client in
            let statements = Locked<[Int]>([])
            let reads = GatheredReads<Int, Int>(concurrent: 1) { keys in
                statements.withLock { $0.append(keys.count) }
                let rows = try await client.query(
                    "select k, k * 2 from pg_sleep(0.05), unnest($1::bigint[]) k where k % 10 <> 0",
                    [.int8Array(keys.map { Int64($0) })])
                return try Dictionary(uniqueKeysWithValues: rows.map { try $0.decode((Int, Int).self) })
            }
            try await withThrowingTaskGroup(of: (Int, Int?).self) { group in
                // Each key is asked for twice.
                for number in 0..<200 { group.addTask { (number / 2, try await reads.value(of: number / 2)) } }
                for try await (key, value) in group { #expect(value == (key % 10 == 0 ? nil : key * 2)) }
            }
            let counts = statements.withLock { $0 }
            #expect(counts.count < 20 && counts.allSatisfy { $0 <= 100 })
        }
    }

    @Test func `a read has at most the limit of keys`() async throws {
        let counts = Locked<[Int]>([])
        let reads = GatheredReads<Int, Int>(limit: 10, concurrent: 1) { keys in
            counts.withLock { $0.append(keys.count) }
            try await Task.sleep(for: .milliseconds(5))
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, $0) })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let value = try await reads.value(of: number)
                    #expect(value == number)
                }
            }
            try await group.waitForAll()
        }
        #expect(counts.withLock { $0.max() } == 10)
    }

    @Test func `a value that can't be sent fails only for those who asked for it`() async throws {
        try await withClient { client in
            let reads = GatheredReads<String, Int>(concurrent: 1) { keys in
                let rows = try await client.query(
                    "select k, length(k) from pg_sleep(0.02), unnest($1::text[]) k", [.textArray(keys)])
                return try Dictionary(uniqueKeysWithValues: rows.map { try $0.decode((String, Int).self) })
            }
            let first = Task { try await reads.value(of: "first") }
            let others = ["a", "bb", "nul\u{0}"].map { key in Task { try await reads.value(of: key) } }
            let lengths = [try await first.value, try await others[0].value, try await others[1].value]
            #expect(lengths == [5, 1, 2])
            await #expect(throws: PostgresError.self) { try await others[2].value }
        }
    }

    @Test func `without a server all who wait get the error`() async throws {
        let reads = GatheredReads<Int, Int> { _ in throw PostgresError(.connectionFailed, "no server") }
        for number in 0..<3 {
            await #expect(throws: PostgresError.self) { try await reads.value(of: number) }
        }
    }
}

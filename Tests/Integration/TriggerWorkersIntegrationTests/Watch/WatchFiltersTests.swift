import Testing

@testable import TriggerWorkers

@Suite struct WatchFiltersTests {
    private static func compute(for time: Duration) -> Bool {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {}
        return true
    }

    @Test func `filters that take long hold up their own user's streams only`() async throws {
        let filters = WatchFilters()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    for _ in 0..<100 {
                        _ = try await filters.evaluate(of: "app", by: "ann") { Self.compute(for: .milliseconds(50)) }
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(600))  // by then she has had what she may have at once
            let start = ContinuousClock.now
            for user in ["bob", "cid"] {
                for _ in 0..<40 { #expect(try await filters.evaluate(of: "app", by: user) { true }) }
            }
            // With her filters in between it would take four seconds.
            #expect(ContinuousClock.now - start < .seconds(1.5))
            group.cancelAll()
        }
    }
}

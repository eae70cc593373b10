import Testing

/// Fails a test that takes too long with the ends of all logs: the time limit alone doesn't say what it waited for.
struct LogsOfHang: TestTrait, SuiteTrait, TestScoping {
    let limit: Duration
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                guard (try? await Task.sleep(for: limit)) != nil else { return }  // the test has ended
                let logs = await RunningSystem.started()?.logEnds(lines: 60) ?? "no system was started"
                Issue.record("\(test.name) still runs after \(limit)\n\(logs)")
            }
            try await function()
            group.cancelAll()
        }
    }
}

extension Trait where Self == LogsOfHang {
    /// - Parameter limit: shorter than the time limit.
    static func logsAfter(_ limit: Duration) -> Self { LogsOfHang(limit: limit) }
}

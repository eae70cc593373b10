import Testing

/// Shows the ends of all logs when a test throws or takes too long: the awaited condition alone doesn't explain the failure.
struct LogsOfTrouble: TestTrait, SuiteTrait, TestScoping {
    let limit: Duration
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                guard (try? await Task.sleep(for: limit)) != nil else { return }  // the test has ended
                Issue.record("\(test.name) still runs after \(limit)\n\(await logEnds())")
            }
            do {
                try await function()
            } catch {
                print("\(test.name) failed: \(error)\n\(await logEnds())")
                throw error
            }
            group.cancelAll()
        }
    }
}

private func logEnds() async -> String {
    await RunningSystem.started()?.logEnds(lines: 20) ?? "no system was started"
}

extension Trait where Self == LogsOfTrouble {
    /// - Parameter limit: shorter than the time limit.
    static func logsAfter(_ limit: Duration) -> Self { LogsOfTrouble(limit: limit) }
}

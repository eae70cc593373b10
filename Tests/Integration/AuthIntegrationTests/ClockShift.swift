import DocumentModel

/// Sets the second service's clock forward, by less than an hour, while something is done. One test at a time does it.
actor ClockShift {
    private static let shared = ClockShift()
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    static func ahead<Result>(_ fixture: AuthFixture, by seconds: Int64, _ body: () async throws -> Result) async throws
        -> Result
    {
        await shared.take()
        fixture.ahead.withLock { $0 = seconds * 1000 }
        do {
            let result = try await body()
            fixture.ahead.withLock { $0 = 0 }
            await shared.release()
            return result
        } catch {
            fixture.ahead.withLock { $0 = 0 }
            await shared.release()
            throw error
        }
    }

    private func take() async {
        if isTaken { await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
    }

    private func release() {
        isTaken = false
        if !waiting.isEmpty {
            isTaken = true
            waiting.removeFirst().resume()
        }
    }
}

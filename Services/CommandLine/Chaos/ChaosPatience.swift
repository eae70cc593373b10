/// Waits for engines that are being killed.
enum ChaosPatience {
    /// Calls until it succeeds: Postgres may be away for a while. What is called may be called again after it was carried out.
    static func again<R>(_ body: () async throws -> R) async throws -> R {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            do { return try await body() } catch  where !(error is CancellationError) {
                guard ContinuousClock.now < end else { throw error }
            }
            try await Task.sleep(for: .milliseconds(200))  // nothing tells when it is back
        }
    }
}

/// Measures how long work takes.
public enum Stopwatch {
    /// Operations per second.
    /// - Parameter count: how many operations the body does.
    public static func rate(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
        Double(count) / (try await seconds(body))
    }

    public static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }
}

/// One or more figures that come from the same work.
///
/// ```swift
/// let gets = Benchmark(Figure("redis.gets", .perSecond, goal: .ratio(atLeast: 0.4))) { bench in
///     let redis = try await bench.machine.redis()
///     …prepare…
///     return try await bench.compare { try await ourGets() } reference: { try await plainGets() }
/// }
/// ```
public struct Benchmark: Sendable {
    public typealias Body = @Sendable (BenchmarkRun) async throws -> [Measurement]

    public let figures: [Figure]
    let body: Body

    /// - Parameter body: yields a measurement for each figure, in their order.
    public init(_ figures: Figure..., body: @escaping Body) {
        self.figures = figures
        self.body = body
    }
}

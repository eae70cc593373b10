import EventLoop
import Redis
import TestSupport

/// Loops that all tests share; connections and keys are each test's own.
let loops = LoopGroup(2)

/// A client and a prefix for the test's keys.
@discardableResult
func withClient<R: Sendable>(
    _ change: @Sendable (inout RedisConfiguration) -> Void = { _ in },
    _ body: @Sendable (_ client: RedisClient, _ prefix: String) async throws -> R
) async throws -> R {
    var configuration = try RedisConfiguration(url: try await TestEngines.shared().redisURL)
    change(&configuration)
    let prefix = "test:\(UInt64.random(in: 0 ... .max)):"
    return try await RedisClient.withClient(configuration, on: loops) { try await body($0, prefix) }
}

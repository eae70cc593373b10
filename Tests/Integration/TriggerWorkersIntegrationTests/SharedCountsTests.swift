import ChildProcesses
import EventLoop
import Foundation
import Lifecycle
import LocalEngines
import Logging
import Redis
import ServiceEngines
import TestSupport
import Testing

/// The counts of two processes on one Redis, as trigger-workers and auth have them.
@Suite struct SharedCountsTests {
    private let fixture: TriggersFixture
    private let key = UUID().uuidString

    init() async throws { fixture = try await TriggersFixture.shared() }

    private func counts(_ redis: RedisClient? = nil, onFailure: @escaping @Sendable () -> Void = {}) -> SharedCounts {
        SharedCounts(
            redis: redis ?? fixture.redis, prefix: "\(fixture.pool):counts:", logger: Logger(label: "test"),
            onFailure: onFailure)
    }

    /// - Returns: how many of these calls, made in turns by both, are admitted, and how many more the time has earned.
    private func admitted(_ calls: Int, of both: [SharedCounts], perMinute: Int) async throws -> (Int, Int) {
        let start = ContinuousClock.now
        var admitted = 0
        for number in 0..<calls {
            if try await both[number % 2].spend([(key, perMinute), ("\(key) of all", 1_000_000)]) == 0 {
                admitted += 1
            }
        }
        let minutes = (ContinuousClock.now - start) / .seconds(60)
        return (admitted, Int(minutes * Double(perMinute)) + 1)
    }

    @Test func `two processes admit together what one may`() async throws {
        let (admitted, earned) = try await admitted(200, of: [counts(), counts()], perMinute: 60)
        #expect((60...60 + earned).contains(admitted), "\(admitted), \(earned) earned")
        let wait = try await counts().spend([(key, 60)])
        #expect((1...61_000).contains(wait))
        let left = try await fixture.redis.command(["PTTL", "\(fixture.pool):counts:\(key)"]).int ?? -1
        #expect((1...120_000).contains(left))
    }

    @Test func `two processes number the calls of a time together`() async throws {
        let both = [counts(), counts()]
        for number in 1...10 {
            #expect(try await both[number % 2].count(key, within: .seconds(60)) == Int64(number))
        }
        let short = key + " short"
        _ = try await both[0].count(short, within: .milliseconds(50))
        try await eventually("the time begins anew") {
            try await Task.sleep(for: .milliseconds(60))  // longer than the time that is counted
            return try await both[1].count(short, within: .milliseconds(50)) == 1
        }
    }

    @Test func `without Redis each counts for itself, and that is told`() async throws {
        let loops = LoopGroup(1)
        let away = RedisClient(configuration: try RedisConfiguration(url: "redis://127.0.0.1:1"), on: loops)
        let running = Task { try await away.run() }
        defer { running.cancel() }
        let failures = Locked(0)
        let both = (0..<2).map { _ in counts(away) { failures.withLock { $0 += 1 } } }
        let (admitted, earned) = try await admitted(200, of: both, perMinute: 60)
        #expect((120...120 + 2 * earned).contains(admitted), "\(admitted), \(earned) earned")
        #expect(failures.withLock { $0 } == 200)
        for number in 1...3 { #expect(try await both[0].count(key, within: .seconds(60)) == Int64(number)) }
    }

    @Test func `what is counted while Redis is full is taken back, too`() async throws {
        let port = try LocalPort.free()
        let server = try ChildProcess.spawn(
            "redis-server",
            ["--port", "\(port)", "--save", "", "--maxmemory", "1", "--maxmemory-policy", "noeviction"],
            output: .discard)
        defer { server.signal(SIGKILL) }
        let full = RedisClient(
            configuration: try RedisConfiguration(url: "redis://127.0.0.1:\(port)"), on: LoopGroup(1))
        let running = Task { try await full.run() }
        defer { running.cancel() }
        try await eventually("Redis answers") { (try? await full.command(["PING"])) != nil }
        let attempt = CountScript(redis: RedisScript("return redis.call('INCR', KEYS[1])")) { counts, keys, _ in
            let count = counts[keys[0]].count + 1
            counts.set(keys[0], LocalCounts.Entry(count: count), memory: 60_000)
            return count
        }
        let success = CountScript(redis: RedisScript("return redis.call('DEL', KEYS[1])"), givesBack: true) {
            counts, keys, _ in
            counts.remove(keys[0])
            return 0
        }
        let counts = counts(full)
        for _ in 0..<3 {
            #expect(try await counts.run(attempt, keys: [key]) == 1)
            try await counts.run(success, keys: [key])
        }
        #expect(try await counts.run(attempt, keys: [key]) == 1)
        #expect(try await counts.run(attempt, keys: [key]) == 2)
    }
}

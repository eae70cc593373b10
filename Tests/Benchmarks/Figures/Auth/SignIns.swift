import BenchmarkRunner
import Csodium
import EventLoop
import Foundation

/// Sign-ins by e-mail and password of 32 users over HTTP, eight at a time, against argon2 alone: the same hash verified by as many
/// threads as auth has, with no request, no row and no token.
let signIns = Benchmark(Figure("auth.sign-ins", .perSecond, goal: .ratio(atLeast: 0.8))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let users = try await system.register(32)
    let script = "\(try await bench.machine.directory())/sign-ins.lua"
    let names = users.map { "\"\($0)\"" }.joined(separator: ", ")
    try """
    local users = {\(names)}
    local next = 0
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
    function request()
      next = next % #users + 1
      return wrk.format(nil, nil, nil, '{"username":"' .. users[next] .. '","password":"\(RunningSystem.password)"}')
    end
    """.write(toFile: script, atomically: true, encoding: .utf8)
    let hash = try Argon2.hash(RunningSystem.password)
    return try await bench.compare {
        try await Wrk.load(system.signInURL, connections: 8, script: script).perSecond
    } reference: {
        try await Argon2.verificationsPerSecond(hash, for: .seconds(2))
    }
}

/// libsodium's argon2id with auth's default costs, on as many threads as auth has by default.
private enum Argon2 {
    private static let threads = 2
    private static let memory = 19 << 20

    static func hash(_ password: String) throws -> String {
        guard sodium_init() >= 0 else { throw BenchmarkError("libsodium can't be used") }
        var text = [CChar](repeating: 0, count: crypto_pwhash_strbytes())
        guard crypto_pwhash_str(&text, password, UInt64(password.utf8.count), 2, memory) == 0 else {
            throw BenchmarkError("argon2 has no memory")
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func verificationsPerSecond(_ hash: String, for time: Duration) async throws -> Double {
        let password = RunningSystem.password
        let end = ContinuousClock.now + time
        let start = ContinuousClock.now
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<threads {
                group.addTask {
                    let executor = ThreadExecutor(name: "argon2-\(number)")
                    defer { executor.stop() }
                    return try await Worker(executor).verify(password, hash, until: end)
                }
            }
            return try await group.reduce(0, +)
        }
        return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
    }

    private actor Worker {
        private let executor: ThreadExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        init(_ executor: ThreadExecutor) { self.executor = executor }

        func verify(_ password: String, _ hash: String, until end: ContinuousClock.Instant) throws -> Int {
            var count = 0
            while ContinuousClock.now < end {
                guard crypto_pwhash_str_verify(hash, password, UInt64(password.utf8.count)) == 0 else {
                    throw BenchmarkError("the password isn't the hash's")
                }
                count += 1
            }
            return count
        }
    }
}

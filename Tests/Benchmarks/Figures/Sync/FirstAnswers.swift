import BenchmarkRunner
import DocumentModel
import EventLoop
import Postgres
import SyncEngine

import struct Foundation.UUID

/// Partitions per second that devices open which nobody opened before: each needs a decision of permissions, which is stored and announced.
/// Twenty users open twenty each. Against a committed row for each.
let firstAnswers = Benchmark(Figure("sync.first-answers", .perSecond, goal: .ratio(atLeast: 0.15))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    var tokens: [String] = []
    for email in try await system.register(20) { tokens.append(try await system.signIn(email)) }
    let loops = LoopGroup(1, name: "first-answers")
    var postgres = PostgresConfiguration(url: try await bench.machine.postgres())
    postgres.connections = 8
    let (users, count) = (tokens, 400)
    let measurements = try await PostgresClient.withClient(postgres, on: loops) { client in
        try await client.execute(
            "create table if not exists answers (partition text primary key, user_id text not null)")
        return try await bench.compare {
            let run = UUID().uuidString
            let partitions = (0..<count).map { Partition(text: "s:first-\(run)-\($0)") }
            let devices = try await Blocking.run {
                try users.map { try system.connect(UUID().uuidString, token: $0) }
            }
            defer { for device in devices { device.socket.close() } }
            return try await Stopwatch.rate(count) {
                try await Blocking.run { try devices.open(partitions, at: Revision(epoch: 0, number: 0)) }
            }
        } reference: {
            let run = UUID().uuidString
            return try await Stopwatch.rate(count) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<count {
                        group.addTask {
                            try await client.execute(
                                "insert into answers values ($1, $2)",
                                [.text("s:first-\(run)-\(number)"), .text(users[0])])
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
    await loops.shutDown()
    return measurements
}

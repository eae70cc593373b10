import EventLoop
import Lifecycle
import Logging
import Metrics
import Postgres

/// Keeps what functions write to their console in Postgres, for `partita logs`. In batches, beside the runs; when it can't keep up,
/// lines are dropped and counted.
final class FunctionLogs: Service {
    struct Line: Sendable {
        var app: String
        var function: String
        var trigger: String?
        var level: String
        var message: String
        var line: Int32?
    }

    private let client: PostgresClient
    private let logger: Logger
    private let lines: AsyncStream<Line>
    private let input: AsyncStream<Line>.Continuation

    /// How long lines are kept.
    private static let retention = "7 days"
    private static let longestMessage = 8192

    init(client: PostgresClient, logger: Logger) {
        self.client = client
        self.logger = logger
        (lines, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(10_000))
    }

    func add(_ line: Line) {
        if case .dropped = input.yield(line) { TriggerMetrics.droppedLogLines.increment() }
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            var batch: [Line] = []
            for await line in lines {
                batch.append(line)
                await write(&batch)
            }
        } onGracefulShutdown: {
            self.input.finish()
        }
    }

    private func write(_ batch: inout [Line]) async {
        defer { batch = [] }
        do {
            try await client.execute(
                """
                insert into partita.function_logs (app, function, trigger, level, message, line)
                select l.app, l.function, l.trigger, l.level, l.message, l.line::int
                from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
                    l(app, function, trigger, level, message, line)
                """,
                [
                    .textArray(batch.map(\.app)), .textArray(batch.map(\.function)), .textArray(batch.map(\.trigger)),
                    .textArray(batch.map(\.level)),
                    .textArray(
                        batch.map { String($0.message.prefix(Self.longestMessage)).replacing("\0", with: "\u{FFFD}") }),
                    .int8Array(batch.map { $0.line.map { Int64($0) } }),
                ])
        } catch {
            TriggerMetrics.droppedLogLines.increment(by: batch.count)
            logger.debug("function logs were not kept", metadata: ["error": "\(error)"])
        }
    }

    /// Removes lines that are too old.
    func expire() async throws {
        try await client.execute(
            "delete from partita.function_logs where at < now() - $1::interval", [.text(Self.retention)])
    }
}

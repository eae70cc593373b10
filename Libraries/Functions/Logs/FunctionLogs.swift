import EventLoop
public import FunctionProtocol
public import Lifecycle
public import Logging
import Metrics
public import Postgres

/// Stores what functions write to their console in Postgres, for `partita logs`. It writes batches, without delaying the runs; when
/// it can't keep up, lines of the apps that write the most are dropped and counted. The table is that of trigger-workers: until these
/// have started for the first time, nothing is kept.
public final class FunctionLogs: Service {
    public struct Line: Sendable {
        var app: String
        var function: String
        var trigger: String?
        var level: String
        var message: String
        var line: Int32?

        public init(
            app: String, function: String, trigger: String? = nil, level: String, message: String, line: Int32? = nil
        ) {
            self.app = app
            self.function = function
            self.trigger = trigger
            self.level = level
            self.message = message
            self.line = line
        }

        /// - Parameter function: the function that was called; used when the line doesn't name the function that wrote it.
        public init(_ line: ConsoleLine, app: String, function: String, trigger: String? = nil) {
            self.init(
                app: app, function: line.function ?? function, trigger: trigger, level: line.level,
                message: line.message, line: line.line.map { Int32(clamping: $0) })
        }
    }

    private static let dropped = Counter(
        label: "function_dropped_log_lines_total", help: "Lines of functions' consoles that were not kept.")

    private let client: PostgresClient
    private let report: FailureReport
    private let waiting = Locked(WaitingLines(capacity: 10_000))
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    private static let longestMessage = 8192
    private static let batch = 500

    public init(client: PostgresClient, logger: Logger) {
        self.client = client
        report = FailureReport("function-logs", logger: logger)
        // One pending wake-up is enough.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Adds how a function failed that was called.
    public func add(_ failure: FunctionFailure, app: String, function: String) {
        add(
            Line(
                app: app, function: failure.function ?? function, level: "error",
                message: "\(failure.code.rawValue): \(failure.message)",
                line: failure.line.map { Int32(clamping: $0) }))
    }

    public func add(_ line: Line) {
        var line = line
        line.message = String(line.message.prefix(Self.longestMessage)).replacing("\0", with: "\u{FFFD}")
        let isKept = waiting.withLock { [line] in $0.add(line) }
        if isKept { wake.yield() } else { Self.dropped.increment() }
    }

    public func run() async throws {
        await withGracefulShutdownHandler {
            // Lines that are added while a batch is written go to the next one.
            for await _ in wakes {
                while let batch = takeBatch() { await write(batch) }
            }
        } onGracefulShutdown: {
            self.wake.finish()
        }
    }

    private func takeBatch() -> [Line]? {
        let batch = waiting.withLock { $0.take(Self.batch) }
        return batch.isEmpty ? nil : batch
    }

    /// Each line gets a different time, so that they stay in order: two lines may be written in the same microsecond.
    private func write(_ batch: [Line]) async {
        do {
            try await client.execute(
                """
                insert into partita.function_logs (at, app, function, trigger, level, message, line)
                select b.at + l.number * interval '1 microsecond', l.app, l.function, l.trigger, l.level, l.message, l.line::int
                from (select clock_timestamp()) b(at),
                    unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) with ordinality
                        l(app, function, trigger, level, message, line, number)
                """,
                [
                    .textArray(batch.map(\.app)), .textArray(batch.map(\.function)), .textArray(batch.map(\.trigger)),
                    .textArray(batch.map(\.level)),
                    .textArray(batch.map(\.message)),
                    .int8Array(batch.map { $0.line.map { Int64($0) } }),
                ])
            report.succeeded("lines of functions' consoles are kept again")
        } catch {
            Self.dropped.increment(by: batch.count)
            report.failed("lines of functions' consoles aren't kept", error)
        }
    }
}

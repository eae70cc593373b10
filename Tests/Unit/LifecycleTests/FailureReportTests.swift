import EventLoop
import Lifecycle
import Logging
import Metrics
import Testing

struct FailureReportTests {
    private final class Lines: LogHandler {
        let all = Locked<[String]>([])

        func log(event: LogEvent) {
            all.withLock { $0.append("\(event.level) \(event.message) \(event.metadata["error"] ?? "")") }
        }
    }

    private struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    @Test func `a failure that lasts is one warning, and each is counted`() {
        let lines = Lines(), work = "tests-of-the-report"
        let report = FailureReport(work, logger: Logger(label: "test", handler: lines, logLevel: .debug))
        report.succeeded("it works")
        for cause in ["refused", "refused", "wrong password"] { report.failed("it waits", Refused(description: cause)) }
        report.failed("it waits", CancellationError())
        report.succeeded("it works")
        report.succeeded("it works")
        report.failed("it waits", Refused(description: "wrong password"))
        #expect(
            lines.all.withLock { $0 } == [
                "warning it waits refused", "debug it waits refused", "warning it waits wrong password",
                "notice it works ", "warning it waits wrong password",
            ])
        let counted = #"background_failures_total{work="\#(work)"} 4"#
        #expect(MetricsRegistry.shared.prometheusText().contains(counted))
    }
}

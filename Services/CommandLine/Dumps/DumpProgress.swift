import Dumps
import EventLoop
import Glibc

/// Shows the progress of an import on standard error: one line that is updated on a terminal, otherwise a line every
/// few seconds.
final class DumpProgress: Sendable {
    private struct State {
        var start = ContinuousClock.now
        var shown: ContinuousClock.Instant?
        var before: Int64?
        var isLineOpen = false
    }

    private let name: String
    private let isTerminal = isatty(2) == 1
    private let state = Locked(State())

    init(name: String) { self.name = name }

    func show(_ status: DumpImport.Status) {
        let now = ContinuousClock.now
        state.withLock { state in
            let before = state.before ?? status.inserted
            state.before = before
            let pause = isTerminal ? Duration.milliseconds(200) : .seconds(5)
            if let shown = state.shown, now - shown < pause { return }
            state.shown = now
            let seconds = max(Double((now - state.start).components.seconds), 1)
            let rate = Int64(Double(status.inserted - before) / seconds)
            let percent = status.size > 0 ? min(status.bytesRead * 100 / status.size, 100) : 100
            let rejected = status.rejected > 0 ? "  \(status.rejected) rejected" : ""
            let text = "\(name)  \(percent) %  \(status.inserted) documents  \(rate)/s\(rejected)"
            state.isLineOpen = isTerminal
            write(isTerminal ? "\r\u{1B}[K\(text)" : text + "\n")
        }
    }

    func finish(_ report: DumpImport.Report) {
        var text = "\(name)  \(report.inserted) documents"
        if report.resumedAfter > 0 { text += ", \(report.resumedAfter) of them by an earlier run" }
        if report.rejected > 0 { text += ", \(report.rejected) rejected: see \(report.rejections ?? "")" }
        if !report.indexes.isEmpty { text += ", indexes \(report.indexes.joined(separator: ", "))" }
        end(([text] + (report.warnings + report.problems).map { "\(name)  \($0)" }).joined(separator: "\n"))
    }

    func end(_ text: String) {
        state.withLock { state in
            write(state.isLineOpen ? "\r\u{1B}[K\(text)\n" : text + "\n")
            state.isLineOpen = false
        }
    }

    private func write(_ text: String) { text.withCString { _ = Glibc.write(2, $0, strlen($0)) } }
}

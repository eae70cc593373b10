import EventLoop
import Glibc

/// Progress messages, on standard error, since standard output is only for results.
enum Progress {
    static func line(_ line: String) { text(line + "\n") }

    /// Prints what is being done, and how long it took.
    static func step<T>(_ what: String, _ body: () async throws -> T) async throws -> T {
        let start = ContinuousClock.now
        let name = "  \(what.padded(to: 46)) "
        // On a terminal the step is shown when it starts, and its end on the same line.
        let isSeen = isatty(2) == 1
        if isSeen { text(name + "…") }
        let begin = isSeen ? "\r" + name : name
        do {
            let result = try await body()
            line(begin + Self.text(ContinuousClock.now - start))
            return result
        } catch {
            line(begin + "failed")
            throw error
        }
    }

    /// A step's line begins with a carriage return. Names of apps, users and dumps can have anything.
    private static func text(_ text: String) {
        var text = Output.escaped(text, but: [0x09, 0x0A, 0x0D])
        _ = text.withUTF8 { write(2, $0.baseAddress, $0.count) }
    }

    static func text(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
}

import Glibc

/// What the tool says while it works, on standard error: what it prints on standard output is an answer.
enum Progress {
    static func line(_ text: String) {
        let line = text + "\n"
        line.withCString { _ = write(2, $0, strlen($0)) }
    }

    /// Says what is being done, and how long it took.
    static func step<T>(_ what: String, _ body: () async throws -> T) async throws -> T {
        let start = ContinuousClock.now
        do {
            let result = try await body()
            line("  \(what.padded(to: 46)) \(Self.text(ContinuousClock.now - start))")
            return result
        } catch {
            line("  \(what.padded(to: 46)) failed")
            throw error
        }
    }

    static func text(_ duration: Duration) -> String {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
}

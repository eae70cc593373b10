import EventLoop
import Glibc

/// Writes buffered log lines when the process exits.
enum FlushAtExit {
    private static let writers = Locked<[LogWriter]>([])

    private static let installed: Void = {
        atexit { FlushAtExit.flush() }
    }()

    static func add(_ writer: LogWriter) {
        _ = installed
        writers.withLock { $0.append(writer) }
    }

    private static func flush() {
        for writer in writers.withLock({ $0 }) { _ = writer.flush(within: .seconds(2)) }
    }
}

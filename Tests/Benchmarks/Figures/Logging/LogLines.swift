import BenchmarkRunner
import CBenchmarkReferences
import Glibc
import Logging

/// JSON lines with metadata until they are in a file, against `fprintf` of the same lines.
let logLines = Benchmark(Figure("logging.lines", .perSecond, goal: .ratio(atLeast: 0.2))) { bench in
    let path = try await bench.machine.directory() + "/lines"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { throw BenchmarkError("can't write \(path): errno \(errno)") }
    // Room for all, since lines that don't fit are dropped. The descriptor stays open, as the handler's thread does.
    let handler = StreamLogHandler(format: .json, descriptor: descriptor, capacity: 256 << 20)
    let logger = Logger(label: "benchmark", handler: handler, logLevel: .info)
    let count = 200_000
    return try await bench.compare {
        try await Stopwatch.rate(count) {
            for number in 0..<count {
                logger.info(
                    "session opened",
                    metadata: [
                        "app": "rchat", "partition": "conversation=64f0c0ffee00000000000042",
                        "bytes": .stringConvertible(number),
                    ])
            }
            guard handler.flush(within: .seconds(20)), handler.droppedLines == 0 else {
                throw BenchmarkError("\(handler.droppedLines) lines were dropped")
            }
        }
    } reference: {
        let seconds = reference_log_lines(path + ".plain", Int32(count))
        guard seconds > 0 else { throw BenchmarkError("can't write \(path).plain") }
        return Double(count) / seconds
    }
}

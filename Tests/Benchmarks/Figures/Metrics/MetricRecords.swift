import BenchmarkRunner
import CBenchmarkReferences
import Metrics

/// A counter's and a timer's records, as each request makes them, against C's atomics.
let metricRecords = Benchmark(Figure("metrics.records", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let registry = MetricsRegistry()
    let counter = Counter(label: "bench_requests_total", help: "Requests.", registry: registry)
    let timer = Timer(label: "bench_request_seconds", help: "Time.", registry: registry)
    let milliseconds = [0.2, 0.4, 0.4, 0.9, 1.3, 2.0, 4.0, 12.0]
    let durations = milliseconds.map { Duration.seconds($0 / 1000) }
    let count = 20_000_000
    return try await bench.compare {
        await Stopwatch.rate(count) {
            for number in 0..<count {
                counter.increment()
                timer.record(durations[number % durations.count])
            }
        }
    } reference: {
        let bounds = Timer.defaultBuckets
        let seconds = reference_metric_records(
            bounds, Int32(bounds.count), milliseconds.map { $0 / 1000 }, Int32(milliseconds.count), count)
        guard seconds > 0 else { throw BenchmarkError("too many buckets") }
        return Double(count) / seconds
    }
}

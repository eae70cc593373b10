import EventLoop
import Foundation
import Logging
import Metrics

/// The metrics of the process itself, under the names that Prometheus' own client libraries use.
enum ProcessMetrics {
    static func register(loops: LoopGroup, crashes: Int, registry: MetricsRegistry) {
        let start = Date().timeIntervalSince1970
        ObservedMetric.gauge(
            label: "process_start_time_seconds", help: "When the process started, as Unix time.", registry: registry
        ) { start }
        ObservedMetric.counter(
            label: "process_crashes_total", help: "How often the process was killed by a signal under its supervisor.",
            registry: registry
        ) { Double(crashes) }
        ObservedMetric.gauge(
            label: "process_resident_memory_bytes", help: "Resident memory.", registry: registry
        ) { residentBytes() }
        ObservedMetric.counter(
            label: "process_cpu_seconds_total", help: "CPU time, user and system.", registry: registry
        ) { processorSeconds() }
        ObservedMetric.gauge(
            label: "process_open_fds", help: "Open descriptors.", registry: registry
        ) { openDescriptors() }
        ObservedMetric.gauge(
            label: "process_max_fds", help: "Descriptors that may be open.", registry: registry
        ) { Double(DescriptorLimit.current) }
        ObservedMetric.counter(
            label: "log_dropped_lines_total", help: "Log lines that were dropped.", registry: registry
        ) { Double(LoggingSystem.droppedLines) }
        for loop in loops.loops {
            let dimensions = [("loop", String(loop.index))]
            ObservedMetric.gauge(
                label: "event_loop_lag_seconds",
                help: "The longest time, in the last 10 to 20 seconds, that the loop didn't look at its sockets.",
                dimensions: dimensions, registry: registry
            ) { loop.load.lag / .seconds(1) }
            ObservedMetric.counter(
                label: "event_loop_busy_seconds_total", help: "Time that the loop has worked.", dimensions: dimensions,
                registry: registry
            ) { loop.load.busy / .seconds(1) }
        }
    }

    static func residentBytes() -> Double {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
            return .nan  // no /proc: not known
        }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { return .nan }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func openDescriptors() -> Double {
        // Newer kernels return the number as the folder's size; with older ones the entries must be counted, which takes
        // milliseconds.
        var status = stat()
        if stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Double(status.st_size) }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else {
            return .nan  // no /proc: not known
        }
        return Double(names.count)
    }
}

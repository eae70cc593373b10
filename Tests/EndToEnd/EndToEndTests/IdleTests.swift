import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// An idle system uses hardly any processor time.
    struct IdleTests {
        @Test(arguments: [true, false])
        func `an idle system uses hardly any processor time`(_ isEmbedded: Bool) async throws {
            if !isEmbedded, !RealBroker.isThere { return }  // the other argument is this one then
            let system = try await RunningSystem.start(
                "partita-e2e-idle-\(isEmbedded)-\(getpid())", isEmbedded: isEmbedded)
            try await system.waitUntilReady()
            // Kafka's JVM keeps itself busy even without requests.
            let broker: pid_t? = isEmbedded ? nil : try system.pid(of: "kafka")
            var last = 0.0
            // It takes 2.0 and 1.7 %; machines differ by a quarter. A wait that spins, or a poll of some milliseconds, costs as much again.
            let limit = isEmbedded ? 0.03 : 0.025
            do {
                try await eventually("nothing is done", within: .seconds(90)) {
                    last = try await Self.load(below: system.up.pid, without: broker, during: .seconds(10))
                    return last < limit
                }
            } catch {
                throw SystemFailure(description: "\(error): \(last) of a processor, more than \(limit)")
            }
            #expect(await system.up.terminate(grace: .seconds(40)) == .exited(0))
            let left = try FileManager.default.contentsOfDirectory(atPath: system.directory + "/run")
            #expect(!left.contains { $0.hasSuffix(".pid") }, "numbers of processes that are gone: \(left)")
        }

        /// The processor time of all processes that descend from one, as a share of a time.
        private static func load(below root: pid_t, without excluded: pid_t?, during time: Duration) async throws
            -> Double
        {
            let before = try processorTime(below: root, without: excluded)
            let start = ContinuousClock.now
            try await Task.sleep(for: time)  // what is measured is time
            let elapsed = ContinuousClock.now - start
            let after = try processorTime(below: root, without: excluded)
            // Processes that ended in between aren't counted, those that began are.
            let used = after.reduce(Duration.zero) { $0 + $1.value - before[$1.key, default: .zero] }
            return used / elapsed
        }

        /// By thread, to the nanosecond: sampling by clock ticks overstates threads that wake up with the tick.
        private static func processorTime(below root: pid_t, without excluded: pid_t?) throws -> [pid_t: Duration] {
            var children: [pid_t: [pid_t]] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
                guard let pid = pid_t(name),
                    let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                    let end = text.lastIndex(of: ")")
                else { continue }  // no process, or one that has just ended
                let fields = text[end...].split(separator: " ")
                guard fields.count > 2, let parent = pid_t(fields[2]) else { continue }
                children[parent, default: []].append(pid)
            }
            var times: [pid_t: Duration] = [:]
            var rest = [root]
            while let pid = rest.popLast() {
                if pid == excluded { continue }
                rest += children[pid, default: []]
                let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
                for thread in threads.compactMap({ pid_t($0) }) {
                    let file = "/proc/\(pid)/task/\(thread)/schedstat"
                    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { continue }  // ended
                    let time = try #require(text.split(separator: " ").first.flatMap { Int64($0) }, "\(file): \(text)")
                    times[thread] = .nanoseconds(time)
                }
            }
            #expect(times.values.contains { $0 > .zero }, "this kernel counts no processor time")
            return times
        }
    }
}

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
            var last = Use()
            // It wakes 510 times a second with the embedded broker, and 460 times with a real one: a poll of a few milliseconds
            // adds hundreds. Machines differ in what they take for it, 2 to 4 % of a processor; a wait that spins takes far more.
            let limit = Use(wakes: 650, processorTime: .milliseconds(80))
            do {
                try await eventually("nothing is done", within: .seconds(90)) {
                    last = try await Self.use(below: system.up.pid, without: broker, during: .seconds(10))
                    return last.wakes < limit.wakes && last.processorTime < limit.processorTime
                }
            } catch {
                throw SystemFailure(description: "\(error): \(last) a second, more than \(limit)")
            }
            #expect(await system.up.terminate(grace: .seconds(40)) == .exited(0))
            let left = try FileManager.default.contentsOfDirectory(atPath: system.directory + "/run")
            #expect(!left.contains { $0.hasSuffix(".pid") }, "numbers of processes that are gone: \(left)")
        }

        /// What threads used, in all or in a second.
        private struct Use {
            /// How often a thread began to run.
            var wakes = 0.0
            var processorTime = Duration.zero
        }

        /// What all processes that descend from one use in a second.
        private static func use(below root: pid_t, without excluded: pid_t?, during time: Duration) async throws -> Use
        {
            let before = try threads(below: root, without: excluded)
            let start = ContinuousClock.now
            try await Task.sleep(for: time)  // what is measured is time
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let after = try threads(below: root, without: excluded)
            // Threads that ended in between aren't counted, those that began are.
            return after.reduce(into: Use()) { use, thread in
                let earlier = before[thread.key] ?? Use()
                use.wakes += (thread.value.wakes - earlier.wakes) / seconds
                use.processorTime += (thread.value.processorTime - earlier.processorTime) / seconds
            }
        }

        /// By thread, to the nanosecond: sampling by clock ticks overstates threads that wake up with the tick.
        private static func threads(below root: pid_t, without excluded: pid_t?) throws -> [pid_t: Use] {
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
            var uses: [pid_t: Use] = [:]
            var rest = [root]
            while let pid = rest.popLast() {
                if pid == excluded { continue }
                rest += children[pid, default: []]
                let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
                for thread in threads.compactMap({ pid_t($0) }) {
                    let file = "/proc/\(pid)/task/\(thread)/schedstat"
                    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { continue }  // ended
                    // Time on a processor, time of waiting for one, number of turns (sched-stats.rst of Linux).
                    let fields = text.split(whereSeparator: \.isWhitespace).map { Int64($0) ?? -1 }
                    try #require(fields.count == 3 && fields.allSatisfy { $0 >= 0 }, "\(file): \(text)")
                    uses[thread] = Use(wakes: Double(fields[2]), processorTime: .nanoseconds(fields[0]))
                }
            }
            #expect(uses.values.contains { $0.processorTime > .zero }, "this kernel counts no processor time")
            return uses
        }
    }
}

import DocumentModel
import EventLoop

/// What a run of `partita bench` measures. Times are in milliseconds, counted from when a write was due, so that what is late delays no
/// measurement of the next one.
final class BenchTimes: Sendable {
    private struct State {
        var begin = ContinuousClock.now
        var acks: [Double] = []
        var arrivals: [Double] = []
        var pings: [Double] = []
        var lastAck = Duration.zero
        /// How often the acknowledged writes arrive at other devices when all have arrived.
        var expected = 0
        var refusals = 0
        /// The first refusal or failure, in words.
        var firstTrouble: String?
    }

    private let plan: BenchPlan
    private let state = Locked(State())

    init(_ plan: BenchPlan) { self.plan = plan }

    /// Sets when the first write is due.
    func begin(_ begin: ContinuousClock.Instant) { state.withLock { $0.begin = begin } }

    func acknowledged(_ number: Int, _ now: ContinuousClock.Instant) {
        state.withLock { state in
            state.lastAck = now - state.begin
            state.acks.append((state.lastAck - plan.due(number)) / .milliseconds(1))
            state.expected += plan.audience(of: number)
        }
    }

    func arrived(_ numbers: [Int], _ now: ContinuousClock.Instant) {
        state.withLock { state in
            for number in numbers { state.arrivals.append((now - state.begin - plan.due(number)) / .milliseconds(1)) }
        }
    }

    func answeredPing(after time: Duration) { state.withLock { $0.pings.append(time / .milliseconds(1)) } }

    func refused(_ reason: String) {
        state.withLock { state in
            state.refusals += 1
            state.firstTrouble = state.firstTrouble ?? reason
        }
    }

    func failed(_ reason: String) { state.withLock { $0.firstTrouble = $0.firstTrouble ?? reason } }

    /// How many answers and arrivals there were, and whether those are all.
    var progress: (count: Int, isComplete: Bool) {
        state.withLock { state in
            let answered = state.acks.count + state.refusals
            return (
                answered + state.arrivals.count,
                answered >= plan.writes && state.arrivals.count >= state.expected
            )
        }
    }

    /// The report; `trouble` says what didn't work.
    func report() -> (rows: [(document: Document, text: String)], trouble: String?) {
        let state = state.withLock { $0 }
        let rate = state.acks.isEmpty ? 0 : Double(state.acks.count) / max(state.lastAck / .seconds(1), 0.001)
        let summary: Document = [
            "figure": "writes", "offered": .int64(Int64(plan.writes)), "offeredPerSecond": .double(plan.perSecond),
            "acknowledged": .int64(Int64(state.acks.count)), "acknowledgedPerSecond": .double(rate),
            "refused": .int64(Int64(state.refusals)), "arrivals": .int64(Int64(state.arrivals.count)),
            "expectedArrivals": .int64(Int64(state.expected)),
        ]
        let words =
            "\(plan.writes) writes at \(Self.short(plan.perSecond)) per second: \(state.acks.count) acknowledged"
            + " (\(Self.short(rate)) per second), \(state.refusals) refused;"
            + " \(state.arrivals.count) of \(state.expected) arrivals at other devices"
        var rows = [(summary, words), (Document(), Self.line("milliseconds", ["count", "p50", "p90", "p99", "max"]))]
        rows += [("write-to-ack", state.acks), ("write-to-arrival", state.arrivals), ("ping-to-pong", state.pings)]
            .filter { !$0.1.isEmpty }.map { Self.row($0.0, $0.1) }
        let missing = state.acks.count < plan.writes || state.arrivals.count < state.expected
        return (rows, missing ? state.firstTrouble ?? "answers or arrivals are missing" : nil)
    }

    private static func row(_ name: String, _ samples: [Double]) -> (Document, String) {
        let sorted = samples.sorted()
        func percentile(_ share: Double) -> Double {
            sorted[min(sorted.count - 1, Int((share * Double(sorted.count)).rounded(.down)))]
        }
        let figures = [percentile(0.5), percentile(0.9), percentile(0.99), sorted[sorted.count - 1]]
        return (
            [
                "figure": .string(name), "count": .int64(Int64(sorted.count)), "p50": .double(figures[0]),
                "p90": .double(figures[1]), "p99": .double(figures[2]), "max": .double(figures[3]),
            ], line(name, ["\(sorted.count)"] + figures.map(short))
        )
    }

    private static func line(_ name: String, _ columns: [String]) -> String {
        func pad(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(1, width - text.count)) }
        return columns.reduce(name + pad(name, 18)) { $0 + pad($1, 10) + $1 }
    }

    /// With two digits after the point below 100, without any above.
    private static func short(_ number: Double) -> String {
        number >= 100 ? "\(Int(number.rounded()))" : "\((number * 100).rounded() / 100)"
    }
}

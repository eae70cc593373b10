import EventLoop
import SyncEngine

/// The faults of a run, in the order of their times: the same for the same seed, length and devices.
struct ChaosPlan: Sendable {
    private(set) var faults: [ChaosFault] = []

    /// One choice: what may happen, how often in proportion to others, and for how long.
    private struct Choice {
        let kind: ChaosFault.Kind
        let targets: [String]
        let weight: Int
        /// Milliseconds.
        var length: ClosedRange<Int> = 0...0
        /// How long the target is left alone afterwards, in milliseconds, so that it can come back.
        var rest = 1000
    }

    /// - Parameters:
    ///   - devices: the devices that may be killed.
    ///   - readers: the devices that may be installed anew.
    ///   - engines: the engines that may be killed.
    ///   - losesCommits: whether Postgres goes back to what it was some seconds before, too.
    init(
        seed: UInt64, length: Duration, devices: [String], readers: [String], engines: [String], losesCommits: Bool
    ) {
        var generator = SeededGenerator(seed: seed)
        var choices = Self.choices(devices: devices, readers: readers, engines: engines)
        if losesCommits {
            for kind in [ChaosFault.Kind.snapshot, .failover] {
                choices.append(
                    Choice(kind: kind, targets: ["postgres"], weight: 10, length: 4000...12_000, rest: 15_000))
            }
        }
        var free: [String: Int] = [:]
        let end = length.wholeMilliseconds
        var time = Int64.random(in: 1500...3000, using: &generator)
        while time < end {
            let choice = Self.pick(choices, using: &generator)
            let target = choice.targets[Int.random(in: 0..<choice.targets.count, using: &generator)]
            let span = Int.random(in: choice.length, using: &generator)
            let seed = generator.next()
            let pause = Int64.random(in: 500...5000, using: &generator)
            // Every fault is over before the end.
            if free[target, default: 0] <= Int(time), time + Int64(span) < end {
                faults.append(
                    ChaosFault(
                        at: .milliseconds(time), kind: choice.kind, target: target, length: .milliseconds(span),
                        seed: seed))
                if !target.isEmpty { free[target] = Int(time) + span + choice.rest }
                time += pause
            } else {
                time += 100
            }
        }
    }

    private static func choices(devices: [String], readers: [String], engines: [String]) -> [Choice] {
        let gateways = ["sync-gateway", "sync-gateway-2"], workers = ["trigger-workers", "trigger-workers-2"]
        var choices = [
            Choice(kind: .kill, targets: gateways, weight: 8), Choice(kind: .kill, targets: workers, weight: 6),
            Choice(kind: .kill, targets: ["relay"], weight: 6),
            Choice(kind: .kill, targets: ["permissions"], weight: 4),
            Choice(kind: .kill, targets: ["auth"], weight: 2), Choice(kind: .kill, targets: ["proxy"], weight: 1),
            Choice(kind: .kill, targets: ["media-offload"], weight: 1),
            Choice(kind: .reinstall, targets: readers, weight: 5, rest: 5000),
            Choice(kind: .stop, targets: gateways, weight: 5, length: 2000...15_000),
            Choice(kind: .stop, targets: workers, weight: 4, length: 2000...15_000),
            Choice(kind: .stop, targets: ["permissions"], weight: 4, length: 2000...15_000),
            Choice(kind: .stop, targets: ["auth"], weight: 1, length: 2000...15_000),
            Choice(kind: .cut, targets: [""], weight: 10),
            Choice(kind: .stall, targets: [""], weight: 5, length: 500...8000),
            Choice(kind: .halfOpen, targets: [""], weight: 5),
            Choice(kind: .killDevice, targets: devices, weight: 8, length: 200...5000),
        ]
        let rests = ["postgres": 15_000, "redis": 5000, "kafka": 30_000]
        for engine in engines {
            guard let rest = rests[engine] else { continue }
            choices += [
                Choice(kind: .kill, targets: [engine], weight: 3, rest: rest),
                Choice(kind: .stop, targets: [engine], weight: 2, length: 1000...8000, rest: 5000),
            ]
        }
        if engines.contains("postgres") {
            choices.append(Choice(kind: .endBackends, targets: ["postgres"], weight: 4))
        }
        return choices
    }

    private static func pick(_ choices: [Choice], using generator: inout SeededGenerator) -> Choice {
        var number = Int.random(in: 0..<choices.map(\.weight).reduce(0, +), using: &generator)
        for choice in choices {
            if number < choice.weight { return choice }
            number -= choice.weight
        }
        return choices[0]
    }
}

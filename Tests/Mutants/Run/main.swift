// Plays histories until one breaks a rule. Arguments: the seeds of each scenario, as a number or as `FIRST..<END`; the library whose
// scenarios are played, `SyncEngine` or `RealmSync`, otherwise both; `--explain` to shrink and print the history. Prints what was
// broken, and how many histories it took. Exit codes: 0 when nothing was broken, 10 when
// something was, 64 when the arguments are wrong.
import Glibc
import RealmSimulation
import Simulation

let arguments = CommandLine.arguments.dropFirst()
let bounds = (arguments.first ?? "1000").split(separator: "..<").map { UInt64($0) }
let seeds: Range<UInt64>
switch bounds.count {
case 1: seeds = 0..<(bounds[0] ?? 0)
case 2: seeds = (bounds[0] ?? 0)..<(bounds[1] ?? 0)
default: seeds = 0..<0
}
guard !seeds.isEmpty else {
    print("the seeds are a number, or FIRST..<END")
    exit(64)
}
let libraries = ["SyncEngine", "RealmSync"].filter(arguments.contains)
let start = ContinuousClock.now
var count = 0

/// Ends when a rule was broken.
/// - Parameter trace: What happened in the history without the steps that don't matter.
@MainActor func check(_ violations: [String], _ name: String, seed: UInt64, trace: () -> [String]) {
    count += 1
    guard let violation = violations.first else { return }
    print("\(count) histories: \(name), seed \(seed): \(violation)")
    if arguments.contains("--explain") { for line in trace() { print(line) } }
    exit(10)
}

for seed in seeds {
    if libraries != ["RealmSync"] {
        let history = Scenario.history(seed: seed)
        for scenario in Scenario.all {
            check(scenario.run(history).violations, scenario.name, seed: seed) {
                scenario.run(scenario.shrunk(history), isTraced: true).trace
            }
        }
    }
    if libraries != ["SyncEngine"] {
        let history = RealmScenario.history(seed: seed)
        for scenario in RealmScenario.all {
            check(scenario.run(history).violations, "Realm \(scenario.name)", seed: seed) {
                scenario.run(scenario.shrunk(history), isTraced: true).trace
            }
        }
    }
}

print("\(count) histories in \(ContinuousClock.now - start)")

// Plays histories until one breaks a rule. Arguments: the number of seeds of each scenario; `--explain` to shrink and print the history.
// Prints what was broken, and how many histories it took. Exit codes: 0 when nothing was broken, 10 when something was.
import Glibc
import Simulation

let seeds = CommandLine.arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1000
let start = ContinuousClock.now
var count = 0
for seed in 0..<seeds {
    for scenario in Scenario.all {
        count += 1
        let history = Scenario.history(seed: seed)
        let world = scenario.run(history)
        guard let violation = world.violations.first else { continue }
        print("\(count) histories: \(scenario.name), seed \(seed): \(violation)")
        if CommandLine.arguments.contains("--explain") {
            for line in scenario.run(scenario.shrunk(history), isTraced: true).trace { print(line) }
        }
        exit(10)
    }
}

print("\(count) histories in \(ContinuousClock.now - start)")

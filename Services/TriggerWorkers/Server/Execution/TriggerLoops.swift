import AppDefinition
import DocumentModel
import EventLoop
import EventTopics
import Lifecycle
import ServiceBootstrap

/// Ends the loops of triggers whose writes cause them again, directly or by other triggers.
///
/// Two limits end them: how often a trigger may follow itself, and, because one run may write what causes many, how many of these
/// runs one event may lead to. There a run counts as often as the trigger has run before it in the chain, so that many documents that
/// one event changes are no loop, and a tree of runs is one soon. What exceeds a limit is dead-lettered, so nothing else waits for it
/// and an operator can let it go on.
struct TriggerLoops: Sendable {
    static let depth = ConfigurationKey<Int>.int(
        "triggers.loop-depth", default: 100, range: 1...1_000_000,
        "How often in a row a trigger may run because of its own writes, or those of the triggers that they cause.")
    static let runs = ConfigurationKey<Int>.int(
        "triggers.loop-runs", default: 100_000, range: 1...1_000_000_000,
        "How often each process runs a trigger, for one event, because of its own writes or those of the triggers that they cause. A run counts as often as the trigger has run before it in its chain."
    )
    static let keys = [depth.description, runs.description]

    /// The stable code of the dead letters.
    static let code = "trigger-loop"

    /// Loops whose runs are counted at a time.
    private static let countedLoops = 1000

    private struct Loop: Hashable {
        @ExactText var app: String
        @ExactText var trigger: String
        /// The event that the chain began with.
        @ExactText var beginning: String
    }

    private struct Counts {
        var runs: [Loop: Int] = [:]
        /// The loops in the order of their first runs.
        var order = FIFO<Loop>()
    }

    private let depth: Int
    private let runs: Int
    private let counts = Locked(Counts())

    init(_ configuration: Configuration) {
        depth = configuration[Self.depth]
        runs = configuration[Self.runs]
    }

    /// Counts a run that is about to begin.
    /// - Returns: Why it must not begin; `nil` if it may.
    func loop(
        of trigger: TriggerDefinition, app: String, on event: TriggerEvent
    ) -> TriggerFailure.Failure? {
        guard let chain = event.causedBy else { return nil }
        let former = chain.runs(of: trigger.name)
        guard former > 0 else { return nil }
        let circle = "\(chain.circle(of: trigger.name)), which began with the event \(chain.beginning)"
        if former >= depth {
            return failure(of: trigger, "has caused itself \(former) times in a row (triggers.loop-depth): \(circle)")
        }
        let count = count(Int(clamping: former), of: Loop(app: app, trigger: trigger.name, beginning: chain.beginning))
        guard count > runs else { return nil }
        return failure(of: trigger, "has caused itself too often for one event (triggers.loop-runs \(runs)): \(circle)")
    }

    private func failure(of trigger: TriggerDefinition, _ what: String) -> TriggerFailure.Failure {
        TriggerFailure.Failure(
            code: Self.code, message: "the trigger \(what); the function isn't run for this event",
            function: trigger.functionName)
    }

    private func count(_ number: Int, of loop: Loop) -> Int {
        counts.withLock { counts in
            if let count = counts.runs[loop] {
                counts.runs[loop] = count + number
                return count + number
            }
            counts.runs[loop] = number
            counts.order.append(loop)
            if counts.runs.count > Self.countedLoops { counts.runs[counts.order.removeFirst()] = nil }
            return number
        }
    }
}

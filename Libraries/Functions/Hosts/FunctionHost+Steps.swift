import EventLoop
import FunctionProtocol

/// Steps of a script that last long: while the process is in the middle of one, it can't answer, and takes no other call up.
extension FunctionHost {
    struct LongStep {
        let step: HostActivity.Step
        /// The CPU time of the process's thread, in seconds, when the step was noticed.
        let time: Double
        /// The CPU limit of its call in seconds.
        let limit: Double
        var ticks = 0
        /// Whether its function was reported.
        var isReported = false
    }

    /// Milliseconds between two looks at a process that has calls.
    private static let interval: UInt64 = 100
    /// The CPU time in seconds for which a step that exceeds its call's limit is left to the host's own watchdog.
    private static let patience = 1.0
    /// The CPU time of a step, in seconds, after which its function no longer shares hosts with others.
    private static let obstruction = 0.9

    /// Whether the process is in the middle of a long step: it takes no other call up before its end.
    var isStuck: Bool { long.map { $0.step == activity.step } ?? false }

    func watchSteps() {
        guard tick == nil else { return }
        let timer = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.lookAtStep() } }
        timer.start(ms: Self.interval, every: Self.interval)
        tick = timer
    }

    func lookAtStep() {
        let step = activity.step
        if calls.isEmpty, step == nil {
            tick?.close()
            tick = nil
        }
        defer { lastStep = step }
        guard checkMemory() else { return }
        guard let step, step == lastStep else {
            if long != nil { changed() }  // it goes on with the others
            long = nil
            return
        }
        if long?.step != step {
            let limit = calls[step.call]?.invocation.limits.cpu ?? (ended?.call == step.call ? ended?.limit : nil)
            long = LongStep(step: step, time: ProcessUse.mainThreadTime(of: child.pid) ?? 0, limit: limit ?? 0)
        }
        displaceWaiting()
        guard var present = long, let time = ProcessUse.mainThreadTime(of: child.pid) else { return }
        present.ticks += 1
        let used = time - present.time
        if used > Self.obstruction, !present.isReported, let call = calls[step.call] {
            present.isReported = true
            obstructed(call.invocation)
        }
        long = present
        // The watchdog can't end some steps: an endless chain of microtasks, a long operation of the engine.
        let isAwaited = calls[step.call] != nil
        let lasts = Double(present.ticks) * Double(Self.interval) / 1000
        if used > present.limit + Self.patience || !isAwaited && lasts > 3 * present.limit + Self.patience {
            lose(to: step.call, Self.outOfTime)
        }
    }

    /// Takes no more calls, so that the process ends after those that have begun. If none has, after those that it has got: else apps that
    /// make way for each other would never come to anything.
    func drain() {
        isDraining = true
        if hasDone || calls.keys.contains(where: { activity.hasBegun(call: $0) }) { displaceWaiting() }
    }

    /// Lets calls that haven't begun begin elsewhere.
    func displaceWaiting() {
        for (number, call) in calls where call.isUntouched && !activity.hasBegun(call: number) {
            send(.end(call: number))
            finish(number, .failure(Displaced(needsOwnHost: call.isAlone)))
        }
    }

    /// The host's own watchdog runs only between two steps of a script; a single step of the engine, such as filling an array, can
    /// exhaust the memory.
    /// - Returns: false when the process has been ended.
    func checkMemory() -> Bool {
        guard let resident = ProcessUse.memory(of: child.pid), resident > memoryLimit + memoryLimit / 4 else {
            return true
        }
        // Without a step it is all of them; then no one is to blame.
        lose(
            to: activity.step?.call ?? (calls.count == 1 ? calls.keys.first : nil) ?? 0,
            FunctionFailure(
                code: .memoryLimitExceeded, message: "the function used more memory than its limit"))
        return false
    }

    /// Kills the process for a call that nothing else can end.
    func lose(to number: Int64, _ failure: FunctionFailure) {
        if let call = calls[number] {
            obstructed(call.invocation)
            var failure = failure
            failure.function = call.invocation.call.function
            finish(number, .failure(failure))
        }
        kill()
    }
}

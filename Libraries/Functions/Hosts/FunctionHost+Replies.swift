import DocumentModel
import EventLoop
import FunctionProtocol

/// What the process tells of its calls.
extension FunctionHost {
    struct PresentCall {
        let invocation: FunctionInvocation
        let deadline: LoopTimer
        /// Whoever waits for the result; `nil` for a call that goes on after its answer.
        var continuation: CheckedContinuation<Value, any Error>?
        let begin = ContinuousClock.now
        /// Owned by the call: cancelled with it.
        var effects: [Int64: Task<Void, Never>] = [:]
        /// The last effect of each of the run's sessions: those of a session are carried out in their order, because scripts don't await
        /// the start of a transaction.
        var sessions: [Int64: Task<Void, Never>] = [:]
        /// Whether nothing of the run has left its process.
        var isUntouched = true
        /// Whether it has the host for itself.
        let isAlone: Bool
    }

    func handle(_ reply: HostReply) {
        switch reply {
        case .ready:
            isReady = true
            changed()
        case .log(let number, let line):
            calls[number]?.isUntouched = false
            calls[number]?.invocation.log(line)
        case .clockRead(let number): calls[number]?.invocation.readsClock?()
        case .checked(let failure):
            checking?.resume(returning: failure)
            checking = nil
        case .effect(let number, let effect):
            // One that comes after its call's end isn't carried out.
            guard let invocation = calls[number]?.invocation, calls[number]?.effects[effect.ordinal] == nil else {
                return
            }
            calls[number]?.isUntouched = false
            let session = effect.arguments["session"]?.int64Value
            let earlier = session.flatMap { calls[number]?.sessions[$0] }
            let task = Task {
                await earlier?.value
                let memory = memoryForAnswer()
                let result = await InflightShare.$current.withValue(memory) { await invocation.perform(effect) }
                await waitToSend()
                answer(effect.ordinal, result, to: number)
                memory.release()
                admitAnswer()
            }
            calls[number]?.effects[effect.ordinal] = task
            if let session { calls[number]?.sessions[session] = task }
        case .answered(let number, let result, _, let memory):
            self.memory = memory
            hasDone = true
            guard let continuation = calls[number]?.continuation else { return }
            calls[number]?.continuation = nil
            calls[number]?.isUntouched = false
            continuation.resume(with: result.mapError { $0 })
        case .ended(let number, let failure):
            guard let failure else { return finish(number, .success(.undefined)) }
            if failure.code.endsHost {
                isDraining = true
                if let call = calls[number] { obstructed(call.invocation) }
            }
            finish(number, .failure(failure))
        case .done(let number, let result, let time, let memory):
            self.memory = memory
            hasDone = true
            guard case .failure(let failure) = result else { return finish(number, result.mapError { $0 }) }
            // The process ends by itself after its other calls.
            if failure.code.endsHost { isDraining = true }
            guard let call = calls[number] else { return }
            if failure.code == .executionTimeLimitExceeded, call.isUntouched, !call.isAlone,
                time < call.invocation.limits.cpu
            {
                obstructed(call.invocation)
                return finish(number, .failure(Displaced(needsOwnHost: true)))
            }
            if failure.code.endsHost { obstructed(call.invocation) }
            finish(number, .failure(failure))
        }
    }

    private func answer(_ ordinal: Int64, _ result: Result<Value, EffectFailure>, to number: Int64) {
        guard calls[number] != nil else { return }
        calls[number]?.effects[ordinal] = nil
        send(.answer(call: number, ordinal: ordinal, result))
    }

    func finish(_ number: Int64, _ result: Result<Value, any Error>) {
        guard let call = calls.removeValue(forKey: number) else { return }
        call.deadline.close()
        for effect in call.effects.values { effect.cancel() }
        if let continuation = call.continuation { return continuation.resume(with: result) }
        if case .failure(let failure as FunctionFailure) = result {
            call.invocation.log(
                ConsoleLine(
                    level: "error",
                    message:
                        "what the function had left behind was ended: \(failure.code.rawValue): \(failure.message)",
                    function: failure.function, line: failure.line))
        }
        let finish = call.invocation.finish
        Task {
            await finish?()
            calmed(self)
        }
    }
}

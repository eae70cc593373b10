import ChildProcesses
import DocumentModel
import EventLoop
import FunctionProtocol
import Glibc
import Logging

/// The parent's side of one host process, which is loaded with one app's functions and has many calls in flight.
///
/// It ends with its process: by `stop`, after a crash, or when one of its calls has to be ended that only the end of the process can
/// end. It is not restarted; the pool makes another.
actor FunctionHost: LoopActor {
    /// Thrown when a call was ended of which nothing has left the process, so that it may start again.
    struct Displaced: Error {
        /// Whether it must start in a host of its own, because it used much CPU time, or because the host was lost with it.
        let needsOwnHost: Bool
        /// Whether the host has ended; otherwise it only has no time for the call.
        var isLost = false
    }

    nonisolated let loop: EventLoop
    nonisolated let bundle: FunctionBundle
    private let child: ChildProcess
    private let descriptor: Int32
    private let outputDescriptor: Int32
    private let page: SharedPage
    private let activity: HostActivity
    private let memoryLimit: Int
    private let logger: Logger
    /// Called when a call may be possible here that wasn't before, or the process has ended.
    private let changed: @Sendable () -> Void
    /// Called with the name of a function that keeps others from running in its host.
    private let obstructed: @Sendable (String) -> Void
    private var watcher: FDWatcher?
    private var output: HostOutput?
    private var frames = FrameBuffer()
    /// What is to be sent, of which the first `sent` bytes are. The functions with their packages can be many megabytes.
    private var unsent: [UInt8] = []
    private var sent = 0
    private var calls: [Int64: PresentCall] = [:]
    private var checking: CheckedContinuation<FunctionFailure?, Never>?
    /// The number of the last call.
    private var lastNumber: Int64 = 0
    private var tick: LoopTimer?
    /// The step that the process was in the middle of at the last tick.
    private var lastStep: HostActivity.Step?
    /// The step that the process is in the middle of for a while.
    private var long: LongStep?
    /// The call that was ended in the middle of a step, and its CPU limit.
    private var ended: (call: Int64, limit: Double)?
    private(set) var isUsable = true
    /// Whether the process is ready.
    private(set) var isReady = false
    /// Whether it gets no more calls, and ends after those that it has.
    var isDraining = false
    /// Whether it is reserved for one call.
    var isAlone = false
    /// The calls that the pool has placed here.
    var placed = 0
    /// Whether a call has run to its end.
    private var hasDone = false
    /// Resident memory after the last call, in bytes.
    private(set) var memory: Int64 = 0

    private struct LongStep {
        let step: HostActivity.Step
        /// The CPU time of the process's thread, in seconds, when the step was noticed.
        let time: Double
        /// The CPU limit of its call in seconds.
        let limit: Double
        var ticks = 0
        /// Whether its function was reported.
        var isReported = false
    }

    private struct PresentCall {
        let invocation: FunctionInvocation
        let deadline: LoopTimer
        let continuation: CheckedContinuation<Value, any Error>
        /// Owned by the call: cancelled with it.
        var effects: [Int64: Task<Void, Never>] = [:]
        /// Whether nothing of the run has left its process.
        var isUntouched = true
        /// Whether it has the host for itself.
        let isAlone: Bool
    }

    /// Starts the process; `start` sends it the functions. A call that is sent before the process is ready waits in its socket.
    init(
        executable: String, bundle: FunctionBundle, memoryLimit: Int, confinement: HostConfinement, loop: EventLoop,
        logger: Logger, changed: @escaping @Sendable () -> Void,
        obstructed: @escaping @Sendable (String) -> Void
    ) throws {
        self.loop = loop
        self.bundle = bundle
        self.memoryLimit = memoryLimit
        self.logger = logger
        self.changed = changed
        self.obstructed = obstructed
        page = try SharedPage(for: executable)
        activity = HostActivity(page.memory)
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ChildProcessError(executable: executable, errno: errno)
        }
        defer { Glibc.close(ends[1]) }
        guard let pipe = HostOutput.pipe() else {
            let failure = ChildProcessError(executable: executable, errno: errno)
            Glibc.close(ends[0])
            throw failure
        }
        defer { Glibc.close(pipe.writing) }
        do {
            child = try confinement.start(
                executable, memoryLimit: memoryLimit, socket: ends[1], page: page, errors: .descriptor(pipe.writing))
        } catch {
            Glibc.close(ends[0])
            Glibc.close(pipe.reading)
            throw error
        }
        _ = fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK)
        descriptor = ends[0]
        outputDescriptor = pipe.reading
    }

    /// Call once, before anything else.
    func start() throws {
        do {
            try watch()
        } catch {
            close(isExpected: true)
            child.signal(SIGKILL)
            throw error
        }
        send(.load(bundle))
    }

    private func watch() throws {
        output = try HostOutput(outputDescriptor, on: loop)
        watcher = try FDWatcher(loop, fd: descriptor) { [unowned self] interest in
            assumeIsolated { host in
                if interest.contains(.write) { host.flush() }
                if interest.contains(.read) { host.receive() }
            }
        }
        watcher?.set(.read)
    }

    // MARK: Calls

    /// Whether another call could begin at once: the process lives, has room, and isn't in the middle of a long step.
    var isOpen: Bool {
        isUsable && !isDraining && !isAlone && !isStuck && unsent.count - sent <= Self.maximumUnsent
    }

    /// Whether nothing is placed here.
    var isIdle: Bool { placed == 0 }

    /// What waits to be sent, in bytes, beyond which no more calls are placed here.
    private static let maximumUnsent = 8 << 20

    /// Runs a function to its end. When the task is cancelled, the function is ended.
    /// - Throws: `FunctionFailure`, `Displaced`, `CancellationError`.
    func call(_ invocation: FunctionInvocation) async throws -> Value {
        lastNumber += 1
        let number = lastNumber
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                start(invocation, number, continuation)
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.end(number, because: CancellationError()) } }
        }
    }

    private func start(
        _ invocation: FunctionInvocation, _ number: Int64, _ continuation: CheckedContinuation<Value, any Error>
    ) {
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        guard isUsable else { return continuation.resume(throwing: Displaced(needsOwnHost: isAlone, isLost: true)) }
        let deadline = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.end(number, because: Self.outOfTime) } }
        deadline.start(ms: invocation.limits.wallMilliseconds)
        calls[number] = PresentCall(
            invocation: invocation, deadline: deadline, continuation: continuation, isAlone: isAlone)
        activity.prepare(call: number)
        var call = invocation.call
        call.id = number
        call.sharedLimit = isAlone ? nil : Self.sharedLimit
        send(.call(call))
        watchSteps()
    }

    /// The CPU time in seconds that a call may use among others, if it can still start again in a host of its own.
    private static let sharedLimit = 1.0
    private static let outOfTime = FunctionFailure(
        code: .executionTimeLimitExceeded, message: "the function took longer than its time limit")

    /// Checks whether a source is valid JavaScript. Returns `nil` when it is.
    func check(_ source: FunctionBundle.Source) async -> FunctionFailure? {
        await withCheckedContinuation { continuation in
            guard isUsable, checking == nil else {
                return continuation.resume(
                    returning: FunctionFailure(code: .hostLost, message: "the function host is gone"))
            }
            checking = continuation
            send(.check(source))
        }
    }

    /// Kills the process, and waits for its end. It needs no clean-up, since all its effects outside of itself go through its parent.
    func stop() async {
        kill()
        _ = await child.wait()
    }

    /// Kills the process.
    func kill() {
        child.signal(SIGKILL)
        close(isExpected: true)
    }

    /// Whether the process is alive. Reads from it first, because its end may not have been noticed yet.
    func isAlive() -> Bool {
        receive()
        return isUsable
    }

    /// Ends a call for which nobody waits any more. The process goes on, unless it is in the middle of a step of this call, and has no
    /// other.
    private func end(_ number: Int64, because error: any Error) {
        guard let call = calls[number] else { return }
        var error = error
        if var failure = error as? FunctionFailure {
            failure.function = failure.function ?? call.invocation.call.function
            error = failure
        }
        finish(number, .failure(error))
        if activity.step?.call == number {
            guard !calls.isEmpty else { return kill() }
            ended = (number, call.invocation.limits.cpu)
        }
        send(.end(call: number))
    }

    // MARK: Steps that last long

    /// Milliseconds between two looks at a process that has calls.
    private static let interval: UInt64 = 100
    /// The CPU time in seconds for which a step that exceeds its call's limit is left to the host's own watchdog.
    private static let patience = 1.0
    /// The CPU time of a step, in seconds, after which its function no longer shares hosts with others.
    private static let obstruction = 0.9

    /// Whether the process is in the middle of a long step: it takes no other call up before its end.
    private var isStuck: Bool { long.map { $0.step == activity.step } ?? false }

    private func watchSteps() {
        guard tick == nil else { return }
        let timer = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.lookAtStep() } }
        timer.start(ms: Self.interval, every: Self.interval)
        tick = timer
    }

    private func lookAtStep() {
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
            obstructed(call.invocation.call.function)
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
    private func displaceWaiting() {
        for (number, call) in calls where call.isUntouched && !activity.hasBegun(call: number) {
            send(.end(call: number))
            finish(number, .failure(Displaced(needsOwnHost: call.isAlone)))
        }
    }

    /// The host's own watchdog runs only between two steps of a script; a single step of the engine, such as filling an array, can
    /// exhaust the memory.
    /// - Returns: false when the process has been ended.
    private func checkMemory() -> Bool {
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
    private func lose(to number: Int64, _ failure: FunctionFailure) {
        if let call = calls[number] {
            obstructed(call.invocation.call.function)
            var failure = failure
            failure.function = call.invocation.call.function
            finish(number, .failure(failure))
        }
        kill()
    }

    private func receive() {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { buffer in
            while isUsable {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 {
                    frames.append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
                    handleFrames()
                } else if count < 0, errno == EINTR {
                    continue
                } else if count < 0, errno == EAGAIN {
                    return
                } else {
                    return close()
                }
            }
        }
    }

    private func handleFrames() {
        do {
            while let document = try frames.next() { handle(try HostReply(document)) }
        } catch {
            child.signal(SIGKILL)
            close()
        }
    }

    private func handle(_ reply: HostReply) {
        switch reply {
        case .ready:
            isReady = true
            changed()
        case .log(let number, let line):
            calls[number]?.isUntouched = false
            calls[number]?.invocation.log(line)
        case .checked(let failure):
            checking?.resume(returning: failure)
            checking = nil
        case .effect(let number, let effect):
            // One that comes after its call's end isn't carried out.
            guard let invocation = calls[number]?.invocation, calls[number]?.effects[effect.ordinal] == nil else {
                return
            }
            calls[number]?.isUntouched = false
            calls[number]?.effects[effect.ordinal] = Task {
                let result = await invocation.perform(effect)
                answer(effect.ordinal, result, to: number)
            }
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
                obstructed(call.invocation.call.function)
                return finish(number, .failure(Displaced(needsOwnHost: true)))
            }
            if failure.code.endsHost { obstructed(call.invocation.call.function) }
            finish(number, .failure(failure))
        }
    }

    private func answer(_ ordinal: Int64, _ result: Result<Value, EffectFailure>, to number: Int64) {
        guard calls[number] != nil else { return }
        calls[number]?.effects[ordinal] = nil
        send(.answer(call: number, ordinal: ordinal, result))
    }

    private func finish(_ number: Int64, _ result: Result<Value, any Error>) {
        guard let call = calls.removeValue(forKey: number) else { return }
        call.deadline.close()
        for effect in call.effects.values { effect.cancel() }
        call.continuation.resume(with: result)
    }

    private func send(_ request: HostRequest) {
        guard isUsable else { return }
        unsent += FrameBuffer.encode(request.document)
        flush()
    }

    private func flush() {
        while sent < unsent.count {
            let count = unsent[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }  // full; or broken, which the next read finds
            sent += count
        }
        if sent == unsent.count {
            unsent.removeAll(keepingCapacity: unsent.capacity < 1 << 20)
            sent = 0
        }
        watcher?.set(unsent.isEmpty ? .read : [.read, .write])
    }

    /// Ends the calls that are left with the process.
    /// - Parameter isExpected: whether the process ends on purpose; otherwise its exit status and output are logged.
    private func close(isExpected: Bool = false) {
        guard isUsable else { return }
        isUsable = false
        let words = output?.close() ?? ""
        if output == nil { Glibc.close(outputDescriptor) }
        output = nil
        if !isExpected { tellEnd(words) }
        tick?.close()
        tick = nil
        watcher?.close()
        watcher = nil
        Glibc.close(descriptor)
        // The one whose step crashed it, or that was alone in it.
        let culprit = isExpected ? nil : activity.step?.call
        if let culprit, let call = calls[culprit] { obstructed(call.invocation.call.function) }
        let lost = FunctionFailure(
            code: .hostLost,
            message:
                "the function's process ended in the middle of the call; what it had done stays: call it again if that is safe"
        )
        for (number, call) in calls {
            let mayRepeat = call.isUntouched && !(call.isAlone && activity.hasBegun(call: number))
            let displaced = Displaced(needsOwnHost: call.isAlone || number == culprit, isLost: true)
            finish(number, .failure(mayRepeat ? displaced : lost))
        }
        checking?.resume(returning: lost)
        checking = nil
        changed()
    }

    private func tellEnd(_ words: String) {
        Task { [child, logger, bundle] in
            let status = await child.wait()
            logger.warning(
                "a function host ended by itself",
                metadata: ["app": "\(bundle.app)", "process.status": "\(status)", "process.output": "\(words)"])
        }
    }
}

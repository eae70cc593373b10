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
    /// The memory for answers to effects, from their arrival until they are on their way to a host.
    private let answers: InflightBudget
    let child: ChildProcess
    private let descriptor: Int32
    private let outputDescriptor: Int32
    private let page: SharedPage
    let activity: HostActivity
    let memoryLimit: Int
    private let logger: Logger
    /// Called when a call may be possible here that wasn't before, or the process has ended.
    let changed: @Sendable () -> Void
    /// Called with a call that keeps others from running in its host.
    let obstructed: @Sendable (FunctionInvocation) -> Void
    /// Called when a call has ended that went on after its answer.
    let calmed: @Sendable (FunctionHost) -> Void
    private var watcher: FDWatcher?
    private var output: HostOutput?
    private var frames = FrameBuffer()
    /// What is to be sent, of which the first `sent` bytes are. The functions with their packages can be many megabytes.
    private var unsent: [UInt8] = []
    private var sent = 0
    /// The answers that wait until little enough is to be sent.
    private var waitingToSend = FIFO<CheckedContinuation<Void, Never>>()
    var calls: [Int64: PresentCall] = [:]
    var checking: CheckedContinuation<FunctionFailure?, Never>?
    /// The number of the last call.
    private var lastNumber: Int64 = 0
    var tick: LoopTimer?
    /// The step that the process was in the middle of at the last tick.
    var lastStep: HostActivity.Step?
    /// The step that the process is in the middle of for a while.
    var long: LongStep?
    /// The call that was ended in the middle of a step, and its CPU limit.
    var ended: (call: Int64, limit: Double)?
    private(set) var isUsable = true
    /// Whether the process is ready.
    var isReady = false
    /// Whether it gets no more calls, and ends after those that it has.
    var isDraining = false
    /// Whether it is reserved for one call.
    var isAlone = false
    /// Whether its process has a low priority. It stays so, and gets only calls that have a host for themselves.
    private(set) var hasLowPriority = false
    /// The calls that the pool has placed here.
    var placed = 0
    /// Whether a call has run to its end.
    var hasDone = false
    /// Resident memory after the last call, in bytes.
    var memory: Int64 = 0

    /// Starts the process; `start` sends it the functions. A call that is sent before the process is ready waits in its socket.
    init(
        executable: String, bundle: FunctionBundle, memoryLimit: Int, confinement: HostConfinement,
        answers: InflightBudget, loop: EventLoop, logger: Logger, changed: @escaping @Sendable () -> Void,
        obstructed: @escaping @Sendable (FunctionInvocation) -> Void,
        calmed: @escaping @Sendable (FunctionHost) -> Void
    ) throws {
        self.loop = loop
        self.bundle = bundle
        self.answers = answers
        self.memoryLimit = memoryLimit
        self.logger = logger
        self.changed = changed
        self.obstructed = obstructed
        self.calmed = calmed
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

    /// Reserves it for one call. Such calls are those that compute for long: they must not slow down all others of the machine.
    func reserve() {
        isAlone = true
        if hasLowPriority { return }
        ProcessUse.lowerPriority(of: child.pid)
        hasLowPriority = true
    }

    /// Whether nothing is placed here. Calls may go on that were answered.
    var isIdle: Bool { placed == 0 }
    /// Whether it is idle, and no call goes on after its answer.
    var isCalm: Bool { isIdle && calls.isEmpty }

    /// What waits to be sent, in bytes, beyond which no more calls are placed here, and answers wait.
    private static let maximumUnsent = 8 << 20

    /// Runs a function to its answer. When the task is cancelled, the function is ended.
    /// - Throws: `FunctionFailure`, `Displaced`, `CancellationError`.
    func call(_ invocation: FunctionInvocation) async throws -> Value {
        lastNumber += 1
        let number = lastNumber
        do {
            let value = try await result(of: invocation, number)
            if calls[number] == nil { await invocation.finish?() }
            return value
        } catch {
            // One that was displaced begins again.
            if calls[number] == nil, !(error is Displaced) { await invocation.finish?() }
            throw error
        }
    }

    private func result(of invocation: FunctionInvocation, _ number: Int64) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                start(invocation, number, continuation)
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.cancel(number) } }
        }
    }

    private func cancel(_ number: Int64) {
        if calls[number]?.continuation != nil { end(number, because: CancellationError()) }
    }

    private func start(
        _ invocation: FunctionInvocation, _ number: Int64, _ continuation: CheckedContinuation<Value, any Error>
    ) {
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        guard isUsable else { return continuation.resume(throwing: Displaced(needsOwnHost: isAlone, isLost: true)) }
        let deadline = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.timeIsOver(number) } }
        deadline.start(ms: invocation.limits.wallMilliseconds)
        calls[number] = PresentCall(
            invocation: invocation, deadline: deadline, continuation: continuation, isAlone: isAlone)
        activity.prepare(call: number)
        var call = invocation.call
        call.id = number
        call.sharedLimit = isAlone ? nil : Self.sharedLimit
        // A repeatable run is over with its answer: nothing records what it would do afterwards.
        if invocation.finish != nil, call.seed == nil {
            call.lingerLimit = Double(invocation.limits.wallMilliseconds) / 1000
        }
        send(.call(call))
        watchSteps()
    }

    private func timeIsOver(_ number: Int64) {
        guard let call = calls[number] else { return }
        var failure = Self.outOfTime
        let lateness = ContinuousClock.now - call.begin - .milliseconds(call.invocation.limits.wallMilliseconds)
        failure.waitedForOthers = !call.effects.isEmpty || lateness > Self.standstill
        end(number, because: failure)
    }

    /// A timer that is so late shows that this process stood still, or got no processor.
    private static let standstill = Duration.milliseconds(300)
    /// The CPU time in seconds that a call may use among others, if it can still start again in a host of its own.
    private static let sharedLimit = 1.0
    static let outOfTime = FunctionFailure(
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

    func send(_ request: HostRequest) {
        guard isUsable else { return }
        unsent += request.frame
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
        admitAnswer()
    }

    /// The memory of an answer to an effect.
    func memoryForAnswer() -> InflightShare {
        InflightShare(of: answers, for: UInt64(bitPattern: Int64(ExactText(bundle.app).hashValue)))
    }

    /// Waits until little enough is to be sent: a process that computes takes nothing. ``admitAnswer()`` has to be called when the
    /// answer is sent, or isn't to be.
    func waitToSend() async {
        while isUsable, unsent.count - sent > Self.maximumUnsent {
            await withCheckedContinuation { waitingToSend.append($0) }
        }
    }

    func admitAnswer() {
        guard !waitingToSend.isEmpty, !isUsable || unsent.count - sent <= Self.maximumUnsent else { return }
        waitingToSend.removeFirst().resume()
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
        admitAnswer()
        // The one whose step crashed it, or that was alone in it.
        let culprit = isExpected ? nil : activity.step?.call
        if let culprit, let call = calls[culprit] { obstructed(call.invocation) }
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

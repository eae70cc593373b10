import ChildProcesses
import DocumentModel
import EventLoop
import FunctionProtocol
import Glibc
import Logging

/// The parent's side of one host process, which is loaded with one app's functions and gets one call at a time.
///
/// It ends with its process: after a limit is exceeded, after a crash, or by `stop`. It is not restarted; the pool makes another.
actor FunctionHost: LoopActor {
    nonisolated let loop: EventLoop
    nonisolated let bundle: FunctionBundle
    private let child: ChildProcess
    private let descriptor: Int32
    private let outputDescriptor: Int32
    private let memoryLimit: Int
    private let logger: Logger
    private var watcher: FDWatcher?
    private var output: HostOutput?
    private var frames = FrameBuffer()
    /// What is to be sent, of which the first `sent` bytes are. The functions with their packages can be many megabytes.
    private var unsent: [UInt8] = []
    private var sent = 0
    private var present: PresentCall?
    private var checking: CheckedContinuation<FunctionFailure?, Never>?
    /// The number of the last call, which distinguishes an effect that outlived its call from those of the present one.
    private var calls = 0
    private(set) var isUsable = true
    /// Whether the process ended unexpectedly before or during a call that had no effect and no output yet, so that the call may be
    /// repeated.
    private(set) var hasLostUntouchedCall = false
    /// Resident memory after the last call, in bytes.
    private(set) var memory: Int64 = 0

    private struct PresentCall {
        let number: Int
        let invocation: FunctionInvocation
        let deadline: LoopTimer
        let memoryCheck: LoopTimer
        let continuation: CheckedContinuation<Value, any Error>
        var effects: [Task<Void, Never>] = []
        /// Whether nothing of the run has left its process.
        var isUntouched = true
    }

    /// Starts the process; `start` sends it the functions. A call that is sent before the process is ready waits in its socket.
    init(
        executable: String, bundle: FunctionBundle, memoryLimit: Int, confinement: HostConfinement, loop: EventLoop,
        logger: Logger
    ) throws {
        self.loop = loop
        self.bundle = bundle
        self.memoryLimit = memoryLimit
        self.logger = logger
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
                executable, memoryLimit: memoryLimit, socket: ends[1], errors: .descriptor(pipe.writing))
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

    /// Runs a function to its end. When the task is cancelled, the process is killed.
    /// - Throws: `FunctionFailure`, `CancellationError`.
    func call(_ invocation: FunctionInvocation) async throws -> Value {
        calls += 1
        let number = calls
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                start(invocation, number, continuation)
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.cancel(number) } }
        }
    }

    private func start(
        _ invocation: FunctionInvocation, _ number: Int, _ continuation: CheckedContinuation<Value, any Error>
    ) {
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        guard isUsable, present == nil else {
            hasLostUntouchedCall = true
            return continuation.resume(
                throwing: FunctionFailure(code: .hostLost, message: "the function host is gone"))
        }
        let deadline = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.ranOutOfTime() } }
        deadline.start(ms: invocation.limits.wallMilliseconds)
        let memoryCheck = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.checkMemory() } }
        memoryCheck.start(ms: Self.memoryInterval, every: Self.memoryInterval)
        present = PresentCall(
            number: number, invocation: invocation, deadline: deadline, memoryCheck: memoryCheck,
            continuation: continuation)
        send(.call(invocation.call))
    }

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

    /// Kills the process. It needs no clean-up, since all its effects outside of itself go through its parent.
    func stop() async {
        close(isExpected: true)
        child.signal(SIGKILL)
        _ = await child.wait()
    }

    /// Whether the process is alive. Reads from it first, because its end may not have been noticed yet.
    func isAlive() -> Bool {
        receive()
        return isUsable
    }

    private func ranOutOfTime() {
        end(
            because: FunctionFailure(
                code: .executionTimeLimitExceeded, message: "the function took longer than its time limit",
                function: present?.invocation.call.function))
    }

    /// Milliseconds between two checks of a call's memory.
    private static let memoryInterval: UInt64 = 100

    /// The host's own watchdog runs only between two steps of a script; a single step of the engine, such as filling an array, can
    /// exhaust the memory.
    private func checkMemory() {
        guard let resident = ResidentMemory.bytes(of: child.pid), resident > memoryLimit + memoryLimit / 4 else {
            return
        }
        end(
            because: FunctionFailure(
                code: .memoryLimitExceeded, message: "the function used more memory than its limit",
                function: present?.invocation.call.function))
    }

    private func cancel(_ number: Int) {
        if present?.number == number { end(because: CancellationError()) }
    }

    /// Kills the process without asking it to end, since it may hang.
    private func end(because error: any Error) {
        child.signal(SIGKILL)
        close(because: error, isExpected: true)
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
        case .ready: break
        case .log(let line):
            present?.isUntouched = false
            present?.invocation.log(line)
        case .checked(let failure):
            checking?.resume(returning: failure)
            checking = nil
        case .effect(let effect):
            guard let invocation = present?.invocation, let number = present?.number else { return }
            present?.isUntouched = false
            // Owned by the present call: cancelled with it.
            let task = Task {
                let result = await invocation.perform(effect)
                answer(effect.ordinal, result, to: number)
            }
            present?.effects.append(task)
        case .done(_, let result, _, let memory):
            self.memory = memory
            finish(result.mapError { $0 as any Error })
            // The process then ends by itself after some time and must not get another call until then.
            if case .failure(let failure) = result, failure.code.endsHost { close(isExpected: true) }
        }
    }

    private func answer(_ ordinal: Int64, _ result: Result<Value, EffectFailure>, to call: Int) {
        guard present?.number == call else { return }
        send(.answer(ordinal: ordinal, result))
    }

    private func finish(_ result: Result<Value, any Error>) {
        guard let call = present else { return }
        present = nil
        call.deadline.close()
        call.memoryCheck.close()
        for effect in call.effects { effect.cancel() }
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

    /// - Parameters:
    ///   - error: why the present call is ended; `nil` when the process ended by itself.
    ///   - isExpected: whether the process ends on purpose; otherwise its exit status and output are logged.
    private func close(because error: (any Error)? = nil, isExpected: Bool = false) {
        guard isUsable else { return }
        isUsable = false
        let words = output?.close() ?? ""
        if output == nil { Glibc.close(outputDescriptor) }
        output = nil
        if !isExpected { tellEnd(words) }
        watcher?.close()
        watcher = nil
        Glibc.close(descriptor)
        if let present, error == nil { hasLostUntouchedCall = present.isUntouched }
        let lost = FunctionFailure(code: .hostLost, message: "the function host ended in the middle of the call")
        finish(.failure(error ?? lost))
        checking?.resume(returning: lost)
        checking = nil
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

import ChildProcesses
import DocumentModel
import FunctionProtocol
import Functions
import Glibc
import Testing

/// A function host as its parent sees it, with calls that block: a test has nothing else to do.
final class TestHost {
    let child: ChildProcess
    private let descriptor: Int32
    /// Where it shows what it does.
    let page: SharedPage
    private var lastCall: Int64 = 0
    private var frames = FrameBuffer()
    private(set) var logs: [String] = []
    private(set) var lines: [ConsoleLine] = []
    private(set) var effects: [FunctionEffect] = []
    /// How often calls have told that they read the clock.
    private(set) var clockReadings = 0

    /// - Parameter variables: added to the environment: `JSC_…` are options of the engine.
    init(
        _ sources: [String: String], modules: [String: String] = [:], memoryLimit: Int = 1 << 30,
        variables: [String: String] = [:]
    ) throws {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        descriptor = ends[0]
        page = try SharedPage(for: "function-host")
        child = try HostConfinement.usual.start(
            CurrentEnvironment.sibling("function-host"), memoryLimit: memoryLimit, socket: ends[1], page: page,
            variables: CurrentEnvironment.variables.merging(variables) { $1 })
        close(ends[1])
        guard case .ready = try next() else { throw FunctionProtocolError(message: "not ready") }
        try send(
            .load(
                FunctionBundle(
                    app: "test", version: 1, functions: sources.map { .init(name: $0.key, text: $0.value) },
                    modules: Dictionary(modules.map { (ExactText($0.key), $0.value) }) { _, last in last })))
    }

    deinit {
        close(descriptor)
        child.signal(SIGKILL)
    }

    /// Runs a function to its end, answering its effects.
    func call(
        _ function: String, _ arguments: [Value] = [], context: Document = [:], cpuLimit: Double = 1,
        seed: Int64? = nil,
        now: Int64? = nil, givesResponse: Bool = false, lingerLimit: Double? = nil, watchesClock: Bool = false,
        answer: (FunctionEffect) -> Result<Value, EffectFailure> = { _ in .success(.null) }
    ) throws -> Result<Value, FunctionFailure> {
        _ = try begin(
            function, arguments, context: context, cpuLimit: cpuLimit, seed: seed, now: now,
            givesResponse: givesResponse, lingerLimit: lingerLimit, watchesClock: watchesClock)
        while true {
            switch try next() {
            case .done(_, let result, _, _), .answered(_, let result, _, _): return result
            case let reply: try handle(reply, answer)
            }
        }
    }

    /// Waits for the end of a call that goes on after its answer.
    /// - Returns: what ended it, if it was a limit.
    func linger(
        answer: (FunctionEffect) -> Result<Value, EffectFailure> = { _ in .success(.null) }
    ) throws -> FunctionFailure? {
        while true {
            switch try next() {
            case .ended(_, let failure): return failure
            case let reply: try handle(reply, answer)
            }
        }
    }

    private func handle(
        _ reply: HostReply, _ answer: (FunctionEffect) -> Result<Value, EffectFailure>
    ) throws {
        switch reply {
        case .log(_, let line):
            logs.append("\(line.level): \(line.message)")
            lines.append(line)
        case .effect(let call, let effect):
            effects.append(effect)
            try send(.answer(call: call, ordinal: effect.ordinal, answer(effect)))
        case .clockRead: clockReadings += 1
        case .ready, .checked, .done, .answered, .ended: throw FunctionProtocolError(message: "unexpected: \(reply)")
        }
    }

    /// Begins a call.
    /// - Returns: its number.
    func begin(
        _ function: String, _ arguments: [Value] = [], context: Document = [:], cpuLimit: Double = 1,
        turn: String = "", seed: Int64? = nil, now: Int64? = nil, givesResponse: Bool = false,
        lingerLimit: Double? = nil, watchesClock: Bool = false
    ) throws -> Int64 {
        lastCall += 1
        try send(
            .call(
                FunctionCall(
                    id: lastCall, function: function, arguments: FunctionArguments(arguments),
                    context: ExtendedJSON.print(context, mode: .exact), cpuLimit: cpuLimit,
                    turn: ExactText(turn), seed: seed, now: now, givesResponse: givesResponse, lingerLimit: lingerLimit,
                    watchesClock: watchesClock)))
        return lastCall
    }

    func check(_ source: String) throws -> FunctionFailure? {
        try send(.check(.init(name: "checked", text: source)))
        guard case .checked(let failure) = try next() else { throw FunctionProtocolError(message: "unexpected") }
        return failure
    }

    func send(_ request: HostRequest) throws {
        let frame = FrameBuffer.encode(request.document)
        var sent = 0
        while sent < frame.count {
            let count = frame[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw FunctionProtocolError(message: "the host closed its socket") }
            sent += count
        }
    }

    /// What arrives within a time; `nil` when nothing does.
    func poll(milliseconds: Int32) throws -> HostReply? {
        if let document = try frames.next() { return try HostReply(document) }
        var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&descriptors, 1, milliseconds) > 0 ? try next() : nil
    }

    func next() throws -> HostReply {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            if let document = try frames.next() { return try HostReply(document) }
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { throw FunctionProtocolError(message: "the host closed its socket") }
            buffer.withUnsafeBytes { frames.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}

import DocumentModel
import FunctionProtocol
import JavaScript

/// The host's only thread: it reads requests, runs JavaScript, and between two steps of a call waits for answers and timers.
///
/// It runs one call at a time, each in a separate context that is prepared while the host is idle. A call that was ended by a limit
/// ends the host, too; so does the end of the parent's socket.
public final class FunctionHostServer {
    private let connection: HostConnection
    private let machine: JavaScriptVirtualMachine
    private let confinement: Confinement
    private var bundle = FunctionBundle(app: "", version: 0, functions: [])
    private var spare: JavaScriptContext?
    private var run: FunctionRun?

    /// - Parameters:
    ///   - descriptor: the socket to the parent.
    ///   - memoryLimit: the resident memory in bytes beyond which a script is ended.
    ///   - confinement: the rights that this process drops: some now, the others before it accepts requests.
    /// - Throws: `ConfinementError`.
    public init(descriptor: Int32, memoryLimit: Int, confinement: Confinement) throws {
        try confinement.begin(descriptors: descriptor + 1)
        self.confinement = confinement
        connection = HostConnection(descriptor: descriptor)
        machine = JavaScriptVirtualMachine(memoryLimit: memoryLimit)
    }

    /// Returns when the parent has closed the socket, or when the machine is used up.
    /// - Throws: `FunctionProtocolError` when the parent uses another protocol; `JavaScriptError` when the engine doesn't start;
    ///   `ConfinementError`.
    public func serve() throws {
        spare = try makeContext()
        try openWhatIsOpenedLate()
        try confinement.complete()
        try connection.send(.ready)
        while !machine.isUsedUp {
            switch try connection.next(until: run?.nextTimer) {
            case .closed: return
            case .timeout: run?.fireTimers()
            case .request(let request): try handle(request)
            }
            try finishIfDone()
        }
    }

    /// The engine reads the time zone, and the cryptographic library its configuration, when they are first used, which is too late
    /// after the confinement: files can't be opened any more.
    private func openWhatIsOpenedLate() throws(JavaScriptError) {
        try JavaScriptContext(machine).evaluate("new Date().toString()", name: "time zone")
        _ = HostCrypto.call(["hash", "sha256", ""])
        _ = JavaScriptVirtualMachine.residentBytes
    }

    private func handle(_ request: HostRequest) throws {
        switch request {
        case .load(let bundle):
            self.bundle = bundle
            spare = nil
        case .call(let call):
            guard run == nil else { throw FunctionProtocolError(message: "a call in the middle of a call") }
            start(call)
        case .answer(let ordinal, let result): run?.answer(ordinal, result)
        case .check(let source): try connection.send(.checked(check(source)))
        }
    }

    private func start(_ call: FunctionCall) {
        do throws(JavaScriptError) {
            let context = if let spare { spare } else { try makeContext() }
            spare = nil
            let run = FunctionRun(
                call: call, sources: Set(texts: bundle.functions.map(\.name)), context: context, connection: connection)
            self.run = run
            run.start()
        } catch {
            run = FunctionRun(call: call, failure: FunctionFailure(error))
        }
    }

    private func finishIfDone() throws {
        guard let run, let result = run.result else { return }
        self.run = nil
        try connection.send(
            .done(
                call: run.call.id, result, cpuTime: run.cpuTime,
                memory: Int64(JavaScriptVirtualMachine.residentBytes)))
        // A source that isn't valid JavaScript fails again at the next call, which reports it.
        if !machine.isUsedUp { spare = try? makeContext() }
    }

    private func makeContext() throws(JavaScriptError) -> JavaScriptContext {
        let context = try JavaScriptContext(machine)
        FunctionRun.defineHostFunctions(in: context) { [unowned self] in run }
        try context.evaluate("globalThis.__functions = {}", name: "functions")
        for function in bundle.functions { try Self.compile(function, in: context) }
        try context.evaluate(Prelude.source, name: Prelude.name)
        try context.reportUnhandledRejections(to: "__unhandled")
        return context
    }

    private func check(_ source: FunctionBundle.Source) -> FunctionFailure? {
        do throws(JavaScriptError) {
            let context = try JavaScriptContext(machine)
            try context.evaluate("globalThis.__functions = {}", name: "functions")
            try Self.compile(source, in: context)
            return nil
        } catch {
            return FunctionFailure(error)
        }
    }

    /// Each function gets its own `context`, which determines for whom it acts. Line numbers remain those of the source.
    private static func compile(_ source: FunctionBundle.Source, in context: JavaScriptContext) throws(JavaScriptError)
    {
        try context.compile(
            "return (function (exports) {" + source.text + "\n;return exports;})({});", name: source.name,
            parameter: "context", into: "__functions")
    }
}

extension FunctionFailure {
    /// The failure that a client receives for an error of the engine.
    init(_ error: JavaScriptError) {
        let code: Code =
            switch error.code {
            case .syntax: .functionSyntaxError
            case .cpuLimit: .executionTimeLimitExceeded
            case .memoryLimit: .memoryLimitExceeded
            case .exception, .engine: .functionExecutionError
            }
        self.init(code: code, message: error.message, function: error.source, line: error.line, stack: error.stack)
    }
}

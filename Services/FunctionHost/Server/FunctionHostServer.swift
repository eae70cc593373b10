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
    private let modules = ModuleFiles()
    private var sources: [ExactText: String] = [:]
    private var spare: JavaScriptContext?
    private var run: FunctionRun?
    /// The last error of `__compile`.
    private var syntaxError: JavaScriptError?

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
            sources = Dictionary(bundle.functions.map { (ExactText($0.name), $0.text) }) { _, last in last }
            modules.load(bundle.modules)
        case .call(let call):
            guard run == nil else { throw FunctionProtocolError(message: "a call in the middle of a call") }
            start(call)
        case .answer(let ordinal, let result): run?.answer(ordinal, result)
        case .check(let source): try connection.send(.checked(try check(source)))
        }
    }

    private func start(_ call: FunctionCall) {
        do throws(JavaScriptError) {
            let run = FunctionRun(
                call: call, sources: Set(sources.keys), context: try context(), connection: connection)
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
        // An engine that can't make a context fails again at the next call, which reports it.
        if !machine.isUsedUp { spare = try? makeContext() }
    }

    /// A context that nothing has run in.
    private func context() throws(JavaScriptError) -> JavaScriptContext {
        defer { spare = nil }
        return if let spare { spare } else { try makeContext() }
    }

    private func makeContext() throws(JavaScriptError) -> JavaScriptContext {
        let context = try JavaScriptContext(machine)
        FunctionRun.defineHostFunctions(in: context) { [unowned self] in run }
        defineSources(in: context)
        try context.evaluate(
            "var __functions = Object.create(null), __modules = Object.create(null)", name: Prelude.name)
        try context.evaluate(Prelude.source, name: Prelude.name)
        try context.reportUnhandledRejections(to: "__unhandled")
        return context
    }

    /// What the prelude uses to load functions and modules, when they are first used.
    private func defineSources(in context: JavaScriptContext) {
        context.define("__functionSource") { [unowned self] words in words.first.flatMap { sources[$0] } }
        context.define("__hasModule") { [modules] words in words.first.map { modules.has($0) } == true ? "1" : nil }
        context.define("__moduleText") { [modules] words in words.first.flatMap { modules.text($0) } }
        context.define("__compile") { [unowned self, unowned context] words in
            guard words.count == 3 else { return ":an argument is missing" }
            do throws(JavaScriptError) {
                try Self.compile(words[0], name: words[1], text: words[2], in: context)
                return nil
            } catch {
                syntaxError = error
                return "\(error.line.map(String.init) ?? ""):\(error.message)"
            }
        }
    }

    private func check(_ source: FunctionBundle.Source) throws(JavaScriptError) -> FunctionFailure? {
        syntaxError = nil
        try context().call("__check", [source.name, source.text])
        return syntaxError.map { FunctionFailure($0) }
    }

    /// Each function gets its own `context`, which determines for whom it acts. Line numbers remain those of the source.
    private static func compile(
        _ kind: String, name: String, text: String, in context: JavaScriptContext
    ) throws(JavaScriptError) {
        if kind == "function" {
            try context.compile(
                "return (function (exports) {" + text + "\n;return exports;})({});", name: name,
                parameter: "context", into: "__functions")
        } else {
            try context.compile(
                text, name: name, parameter: "exports, require, module, __filename, __dirname, inside",
                into: "__modules")
        }
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

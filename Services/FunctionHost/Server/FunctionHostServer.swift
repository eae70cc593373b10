import DocumentModel
import EventLoop
import FunctionProtocol
import Glibc
import JavaScript

/// The host's only thread: it reads requests, and runs JavaScript for one call at a time, up to where the call waits for an answer or
/// a timer. Calls whose turn it is alternate by their ``FunctionCall/turn``.
///
/// Each call has a context of its own, which is prepared while the host has nothing to do. When a limit ended a call, the host ends
/// after its other calls. It ends at once with the parent's socket.
public final class FunctionHostServer {
    /// What a run waits for its turn to do.
    private enum Work {
        case start(FunctionCall)
        case answer(call: Int64, ordinal: Int64, Result<Value, EffectFailure>)
        case timers(call: Int64)

        var call: Int64 {
            switch self {
            case .start(let call): call.id
            case .answer(let call, _, _), .timers(let call): call
            }
        }
    }

    /// How many contexts are prepared while there is nothing else to do.
    private static let spares = 4
    /// How many calls may go on after their answers. Each keeps its context.
    private static let maximumLingering = 32

    private let connection: HostConnection
    private let activity: HostActivity
    private let machine: JavaScriptVirtualMachine
    private let confinement: Confinement
    private let modules = ModuleFiles()
    private var sources: [ExactText: String] = [:] {
        didSet { names = Set(sources.keys) }
    }
    private var names: Set<ExactText> = []
    private var prelude: JavaScriptSource?
    private var compiled: CompiledSources
    private var spares: [Realm] = []
    private var runs: [Int64: FunctionRun] = [:]
    /// The calls that haven't begun.
    private var calls: [Int64: ExactText] = [:]
    /// The answered calls that go on.
    private var lingering: Set<Int64> = []
    private var work = Turns<ExactText, Work>()
    /// The run whose JavaScript runs.
    private var present: FunctionRun?
    /// The last error of `compile`.
    private var syntaxError: JavaScriptError?

    /// - Parameters:
    ///   - descriptor: the socket to the parent. The next one is the page of memory in which the parent sees which call has the thread.
    ///   - memoryLimit: the resident memory in bytes beyond which a script is ended.
    ///   - confinement: the rights that this process drops: some now, the others before it accepts requests.
    /// - Throws: `ConfinementError`; `FunctionProtocolError` when there is no such page.
    public init(descriptor: Int32, memoryLimit: Int, confinement: Confinement) throws {
        activity = HostActivity(try Self.page(descriptor + 1))
        try confinement.begin(descriptors: descriptor + 1)
        self.confinement = confinement
        connection = HostConnection(descriptor: descriptor)
        machine = JavaScriptVirtualMachine(memoryLimit: memoryLimit)
        compiled = CompiledSources(machine)
        machine.isToBlame = { [unowned self] growth in isPresentToBlame(growth) }
    }

    private static func page(_ descriptor: Int32) throws -> UnsafeMutableRawPointer {
        let memory = mmap(nil, HostActivity.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let memory, memory != MAP_FAILED else {
            throw FunctionProtocolError(message: "no shared page: \(String(cString: strerror(errno)))")
        }
        return memory
    }

    /// Returns when the parent has closed the socket, or when the machine is used up and no call is left.
    /// - Throws: `FunctionProtocolError` when the parent uses another protocol; `JavaScriptError` when the engine doesn't start;
    ///   `ConfinementError`.
    public func serve() throws {
        spares.append(try makeRealm())
        try openWhatIsOpenedLate()
        try confinement.complete()
        try connection.send(.ready)
        while !(machine.isUsedUp && runs.isEmpty && calls.isEmpty) {
            guard try connection.receive(until: hasTime() ? nextTimer : .now) else { return }
            while let request = try connection.next() { try take(request) }
            queueTimers()
            if let (_, next) = work.pop(where: { _ in true }) { try perform(next) }
        }
    }

    /// Whether there is nothing to do until something arrives or a timer is due. If so, and there are few spare contexts, makes one
    /// first; then there may be something again.
    private func hasTime() throws -> Bool {
        guard work.count == 0 else { return false }
        guard spares.count < Self.spares, !machine.isUsedUp else { return true }
        // An engine that can't make a context fails again at the next call, which reports it.
        guard let realm = try? makeRealm() else { return true }
        spares.append(realm)
        return false
    }

    private var nextTimer: ContinuousClock.Instant? { runs.values.lazy.compactMap(\.nextTimer).min() }

    /// The engine reads the time zone, and the cryptographic library its configuration, when they are first used, which is too late
    /// after the confinement: files can't be opened any more.
    private func openWhatIsOpenedLate() throws(JavaScriptError) {
        try JavaScriptContext(machine).evaluate("new Date().toString()", name: "time zone")
        _ = HostCrypto.call(["hash", "sha256", ""])
        _ = JavaScriptVirtualMachine.residentBytes
    }

    private func take(_ request: HostRequest) throws {
        switch request {
        case .load(let bundle):
            sources = Dictionary(bundle.functions.map { (ExactText($0.name), $0.text) }) { _, last in last }
            modules.load(bundle.modules)
            compiled = CompiledSources(machine)
        case .call(let call):
            guard runs[call.id] == nil, calls.updateValue(call.turn, forKey: call.id) == nil else {
                throw FunctionProtocolError(message: "a second call \(call.id)")
            }
            work.append(.start(call), of: call.turn)
        case .answer(let call, let ordinal, let result):
            guard let run = runs[call] else { return }
            work.append(.answer(call: call, ordinal: ordinal, result), of: run.call.turn)
        case .end(let call):
            runs[call] = nil
            lingering.remove(call)
            if calls.removeValue(forKey: call) != nil { _ = work.remove { $0.call == call } }
        case .check(let source): try connection.send(.checked(try check(source)))
        }
    }

    private func queueTimers() {
        let now = ContinuousClock.now
        for run in runs.values where run.takeDueTimers(at: now) {
            work.append(.timers(call: run.call.id), of: run.call.turn)
        }
    }

    private func perform(_ work: Work) throws {
        if case .start(let call) = work {
            calls[call.id] = nil
            do throws(JavaScriptError) {
                runs[call.id] = FunctionRun(
                    call: call, sources: names, realm: try realm(), connection: connection,
                    mayLinger: { [unowned self] in lingering.count < Self.maximumLingering },
                    answerLater: { [unowned self] ordinal, failure in
                        self.work.append(.answer(call: call.id, ordinal: ordinal, .failure(failure)), of: call.turn)
                    })
            } catch {
                runs[call.id] = FunctionRun(call: call, failure: FunctionFailure(error))
            }
        }
        guard let run = runs[work.call] else { return }  // it has ended since
        present = run
        activity.begin(call: run.call.id)
        switch work {
        case .start: run.start()
        case .answer(_, let ordinal, let result): run.take(result, of: ordinal)
        case .timers: run.fireTimers()
        }
        activity.end()
        present = nil
        try finishIfDone(run)
        try keepMemory(after: run)
    }

    private func finishIfDone(_ run: FunctionRun) throws {
        let (call, memory) = (run.call.id, Int64(machine.residentBytes))
        if let answer = run.answer, lingering.insert(call).inserted {
            try connection.send(.answered(call: call, answer, cpuTime: run.cpuTime, memory: memory))
        }
        guard let result = run.result else { return }
        runs[call] = nil
        guard lingering.remove(call) != nil else {
            return try connection.send(.done(call: call, result, cpuTime: run.cpuTime, memory: memory))
        }
        var failure: FunctionFailure?
        if case .failure(let end) = result, !run.isComplete { failure = end }
        try connection.send(.ended(call: call, failure))
    }

    // MARK: Memory

    /// Whether, of all runs, the present one has taken the most memory.
    private func isPresentToBlame(_ growth: Int) -> Bool {
        guard let present else { return true }
        let taken = present.memoryGrowth + growth
        return !runs.values.contains { $0 !== present && $0.memoryGrowth > taken }
    }

    /// When the process has more memory than its limit after a step, and the watchdog has ended nothing for it, ends the run that has
    /// taken the most. The memory doesn't come back at once, so the others may have an eighth more, and the process ends with them.
    private func keepMemory(after last: FunctionRun) throws {
        guard machine.residentBytes > machine.memoryLimit else { return }
        if !last.isOutOfMemory, let run = runs.values.max(by: { $0.memoryGrowth < $1.memoryGrowth }) {
            run.end(FunctionFailure(code: .memoryLimitExceeded, message: "the memory limit is used up"))
            try finishIfDone(run)
        }
        machine.giveRoom()
    }

    // MARK: Contexts

    /// A context that nothing has run in.
    private func realm() throws(JavaScriptError) -> Realm {
        if let spare = spares.popLast() { return spare }
        return try makeRealm()
    }

    private func makeRealm() throws(JavaScriptError) -> Realm {
        let realm = Realm(context: try JavaScriptContext(machine))
        if prelude == nil { prelude = try JavaScriptSource(Prelude.source, name: Prelude.name, for: machine) }
        if let prelude {
            try realm.context.begin(with: prelude) { [unowned self, holder = realm.holder] in answer($0, of: holder) }
        }
        try realm.context.reportUnhandledRejections(to: "unhandled")
        return realm
    }

    /// What the prelude asks of the host: an operation, and its arguments. Functions reach it only through their context.
    private func answer(_ words: [String], of holder: Realm.Holder) -> JavaScriptContext.Answer {
        let argument = words.count > 1 ? words[1] : ""
        switch words.first {
        case "compile": return compile(Array(words.dropFirst()))
        case "functionSource": return sources[argument].map { .text($0) } ?? .undefined
        case "hasModule": return modules.has(argument) ? .text("1") : .undefined
        case "moduleText": return modules.text(argument).map { .text($0) } ?? .undefined
        case "crypto": return .text(HostCrypto.call(Array(words.dropFirst()), holder.ciphers))
        default: return holder.run?.perform(words).map { .text($0) } ?? .undefined
        }
    }

    /// The function of a source: of one of the app's functions or of a module, by its name.
    /// - Parameter words: `function` or `module`, the name, and the text that the prelude has made of the source. Without a text it is
    ///   the source as it is, unless the source may have to be changed first: then `undefined` is the answer.
    private func compile(_ words: [String]) -> JavaScriptContext.Answer {
        guard words.count >= 2 else { return .text(":an argument is missing") }
        let kind: CompiledSources.Kind = words[0] == "function" ? .function : .module
        do throws(JavaScriptError) {
            if words.count > 2 { return .value(of: try compiled.source(kind, words[1], text: words[2])) }
            let text = kind == .function ? sources[words[1]] : modules.text(words[1])
            guard let text, let source = try compiled.source(kind, words[1], unchanged: text) else { return .undefined }
            return .value(of: source)
        } catch {
            syntaxError = error
            return .text("\(error.line.map(String.init) ?? ""):\(error.message)")
        }
    }

    private func check(_ source: FunctionBundle.Source) throws(JavaScriptError) -> FunctionFailure? {
        syntaxError = nil
        try realm().context.call("check", [source.name, source.text])
        return syntaxError.map { FunctionFailure($0) }
    }
}

/// A context, and the run that has it.
struct Realm {
    /// Apart from the context, whose functions refer to it: they must not keep the context itself.
    final class Holder {
        weak var run: FunctionRun?
        let ciphers = OpenCiphers()
    }

    let context: JavaScriptContext
    let holder = Holder()
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

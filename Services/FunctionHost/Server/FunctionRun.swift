import DocumentModel
import Foundation
import FunctionProtocol
import JavaScript

/// One call in progress: its context, its timers, and the effects that it waits for.
///
/// It is answered when the function has returned, its promise is settled, and what it started without awaiting is done: effects, their
/// continuations, and timers that are due soon. If later timers are left, and it may linger, it goes on until they have run.
final class FunctionRun {
    /// How long after the function's own end its timers still delay the answer. A timer that only limits a wait (`Promise.race`) is often
    /// left behind, and must not delay it.
    private static let timerGrace = Duration.seconds(1)

    /// The largest console output of a call in bytes; further output is dropped, with a message that says so.
    private static let maximumLogBytes = 256 << 10
    /// The largest result, and the largest arguments of one effect, in bytes, as in App Services.
    private static let maximumResultBytes = 16 << 20
    /// The most effects of a run that are in flight; others wait for their answers. Functions begin thousands at once
    /// (`Promise.all`), and a user's share of the database's turns is smaller than that.
    private static let effectsInFlight = 16
    /// The largest arguments of all effects that wait, in bytes.
    private static let maximumWaitingBytes = 64 << 20

    let call: FunctionCall
    private(set) var result: Result<Value, FunctionFailure>?
    /// How the function itself ended; the run's result, unless what is left of it exceeds a limit.
    private var ending: (result: Result<Value, FunctionFailure>, time: ContinuousClock.Instant)?
    /// The names of the app's functions.
    private let sources: Set<ExactText>
    private let context: JavaScriptContext?
    private let connection: HostConnection?
    /// Whether the host has room for one more call that goes on after its answer.
    private let mayLinger: () -> Bool
    /// Answers an effect in a later step, as if its answer had arrived.
    private let answerLater: (Int64, EffectFailure) -> Void
    private let beginning = ContinuousClock.now
    /// The result of a call that goes on.
    private(set) var answer: Result<Value, FunctionFailure>?
    /// Whether it ended by itself, and by no limit.
    private(set) var isComplete = false
    private var timers: [Int: ContinuousClock.Instant] = [:]
    private var earliestTimer: ContinuousClock.Instant?
    /// Whether `fireTimers` will be called.
    private var isDue = false
    private var waiting: Set<Int64> = []
    /// Answers that have come before those to earlier calls, of a run that must be repeatable: it gets them in the order of its calls, since
    /// a run that starts again has the same answers and other times.
    private var early: [Int64: Result<Value, EffectFailure>] = [:]
    /// The effects that aren't sent yet, in their order; part of `waiting`.
    private var unsent: [FunctionEffect] = []
    private var nextUnsent = 0
    private var unsentBytes: [Int] = []
    private var waitingBytes = 0
    private var loggedBytes = 0

    init(
        call: FunctionCall, sources: Set<ExactText>, realm: Realm, connection: HostConnection,
        mayLinger: @escaping () -> Bool, answerLater: @escaping (Int64, EffectFailure) -> Void
    ) {
        self.call = call
        self.mayLinger = mayLinger
        self.answerLater = answerLater
        self.sources = sources
        self.connection = connection
        let context = realm.context
        self.context = context
        context.cpuLimit = min(call.cpuLimit, call.sharedLimit ?? .infinity)
        realm.holder.run = self
    }

    /// A call that failed before it started.
    init(call: FunctionCall, failure: FunctionFailure) {
        self.call = call
        sources = []
        context = nil
        connection = nil
        mayLinger = { false }
        answerLater = { _, _ in }
        result = .failure(failure)
    }

    var cpuTime: Double { context?.cpuTime ?? 0 }

    /// The bytes by which the process's memory grew in its steps.
    var memoryGrowth: Int { context?.memoryGrowth ?? 0 }

    var isOutOfMemory: Bool {
        if case .failure(let failure) = result { failure.code == .memoryLimitExceeded } else { false }
    }

    /// When `fireTimers` is to be called; `nil` when no timer is set, or it will be called already.
    var nextTimer: ContinuousClock.Instant? { isDue ? nil : earliestTimer }

    /// Whether a timer is due. If so, `fireTimers` must be called.
    func takeDueTimers(at now: ContinuousClock.Instant) -> Bool {
        guard let next = nextTimer, next <= now else { return false }
        isDue = true
        return true
    }

    func start() {
        let kind =
            (call.arguments.isPlain ? "plain " : "") + (call.givesResponse ? "response " : "")
            + (call.watchesClock ? "clock" : "")
        step(
            "run",
            [
                call.function, call.arguments.text, call.context, kind, call.seed.map { "\($0)" } ?? "",
                call.now.map { "\($0)" } ?? "",
            ])
    }

    func take(_ result: Result<Value, EffectFailure>, of ordinal: Int64) {
        guard waiting.contains(ordinal) else { return }
        guard call.seed != nil else { return deliver(ordinal, result) }
        early[ordinal] = result
        while let first = waiting.min(), let result = early.removeValue(forKey: first) { deliver(first, result) }
    }

    private func deliver(_ ordinal: Int64, _ result: Result<Value, EffectFailure>) {
        waiting.remove(ordinal)
        sendNext()
        switch result {
        case .success(let value): step("answer", ["\(ordinal)", ExtendedJSON.print(value, mode: .exact), ""])
        case .failure(let failure): step("answer", ["\(ordinal)", "", ExtendedJSON.print(failure.document)])
        }
    }

    func fireTimers() {
        isDue = false
        let now = ContinuousClock.now
        for timer in timers.filter({ $0.value <= now }).sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            // One before it may have cleared it, or begun its time again.
            guard timers[timer.key] == timer.value else { continue }
            timers[timer.key] = nil
            step("fire", ["\(timer.key)"])
        }
        earliestTimer = timers.values.min()
    }

    /// Ends the run in between two of its steps.
    func end(_ failure: FunctionFailure) {
        if result == nil { result = .failure(placed(failure)) }
    }

    private func step(_ function: String, _ arguments: [String]) {
        guard result == nil, let context else { return }
        do throws(JavaScriptError) {
            try context.call(function, arguments)
        } catch  where error.code == .exception && ending != nil {
            log(["error", "a timer of the function failed: \(error.message)", error.stack ?? ""])
        } catch {
            result = .failure(placed(FunctionFailure(error)))
        }
        endIfDone()
    }

    private func endIfDone() {
        guard result == nil, waiting.isEmpty else { return }
        guard let ending else {
            if timers.isEmpty {
                fail(.functionExecutionError, "the function waits for a promise that nothing will settle")
            }
            return
        }
        if answer == nil, timers.values.contains(where: { $0 <= ending.time + Self.timerGrace }) { return }
        if !timers.isEmpty {
            if let reason = reasonToEnd() {
                log(["warn", "timers that are due \(reason) don't run: \(timers.count)", ""])
            } else {
                leaveTrace()
                answer = answer ?? ending.result
                return
            }
        }
        isComplete = true
        result = ending.result
    }

    /// Why the call doesn't wait for the timers that are left; `nil` when it does.
    private func reasonToEnd() -> String? {
        guard let limit = call.lingerLimit else { return "later than a second after the function's end" }
        guard timers.values.contains(where: { $0 <= beginning + .seconds(limit) }) else {
            return "after the function's time limit"
        }
        guard answer == nil, !mayLinger() else { return nil }
        return "later than a second after the function's end, while as many calls as may be still go on,"
    }

    private func fail(_ code: FunctionFailure.Code, _ message: String) {
        if result == nil { result = .failure(FunctionFailure(code: code, message: message, function: call.function)) }
    }

    /// Carries out what the prelude asks of the run that has its context.
    /// - Parameter words: the operation, and its arguments.
    func perform(_ words: [String]) -> String? {
        let arguments = Array(words.dropFirst())
        switch words.first {
        case "effect": effect(arguments)
        case "log": log(arguments)
        case "done": done(arguments)
        case "failed": failed(arguments)
        case "clockRead":
            do { try connection?.send(.clockRead(call: call.id)) } catch { fail(.hostLost, "\(error)") }
        case "setTimer": setTimer(arguments)
        case "clearTimer": if let id = arguments.first.flatMap({ Int($0) }) { clearTimer(id) }
        case "randomKey": return arguments.first.flatMap { Int64($0) }.flatMap { randomKey($0) }
        default: break
        }
        return nil
    }

    /// Something of the run leaves the process: it can't start again elsewhere any more.
    private func leaveTrace() { context?.cpuLimit = call.cpuLimit }

    private func effect(_ words: [String]) {
        guard words.count == 5, let ordinal = Int64(words[0]) else { return }
        waiting.insert(ordinal)
        let arguments: Document
        do throws(EffectFailure) {
            arguments = try Self.arguments(words[3], of: "\(words[1]).\(words[2])")
        } catch {
            return answerLater(ordinal, error)
        }
        leaveTrace()
        do {
            let effect = FunctionEffect(
                ordinal: ordinal, service: words[1], action: words[2], arguments: arguments, function: words[4])
            if waiting.count - (unsent.count - nextUnsent) <= Self.effectsInFlight {
                try connection?.send(.effect(call: call.id, effect))
            } else {
                wait(effect, bytes: words[3].utf8.count)
            }
        } catch {
            fail(.functionExecutionError, "\(words[1]).\(words[2]): \(error)")
        }
    }

    /// - Throws: `EffectFailure`, which the function can catch, like that of a call that was sent.
    private static func arguments(_ text: String, of call: String) throws(EffectFailure) -> Document {
        guard text.utf8.count <= maximumResultBytes else {
            throw EffectFailure(
                name: "MongoDBError", message: "\(call) has arguments of more than \(maximumResultBytes) bytes",
                code: 10334)
        }
        do {
            return try ExtendedJSON.parseDocument(text, limits: .init(maximumDepth: 210))
        } catch {
            throw EffectFailure(name: "MongoDBError", message: "\(call): \(error)", code: 2)
        }
    }

    private func wait(_ effect: FunctionEffect, bytes: Int) {
        waitingBytes += bytes
        guard waitingBytes <= Self.maximumWaitingBytes else {
            return fail(
                .sizeLimitExceeded,
                "the calls that wait for others have arguments of more than \(Self.maximumWaitingBytes) bytes: await some of them"
            )
        }
        unsent.append(effect)
        unsentBytes.append(bytes)
    }

    private func sendNext() {
        guard result == nil, nextUnsent < unsent.count else { return }
        let effect = unsent[nextUnsent]
        waitingBytes -= unsentBytes[nextUnsent]
        nextUnsent += 1
        if nextUnsent == unsent.count { (unsent, unsentBytes, nextUnsent) = ([], [], 0) }
        do {
            try connection?.send(.effect(call: call.id, effect))
        } catch {
            fail(.functionExecutionError, "\(effect.service).\(effect.action): \(error)")
        }
    }

    /// A key for random bytes, in Base64. It is an effect, so that a run that is repeated gets the same one, but the script waits for
    /// it in the middle of a step, since packages expect random bytes at once.
    private func randomKey(_ ordinal: Int64) -> String? {
        do {
            guard let connection else { return nil }
            leaveTrace()
            try connection.send(
                .effect(
                    call: call.id,
                    FunctionEffect(
                        ordinal: ordinal, service: FunctionEffect.random, action: "key", arguments: [:],
                        function: call.function)))
            let answer = try connection.answer(to: ordinal, of: call.id).get()
            if case .binary(let key) = answer { return Data(key.bytes).base64EncodedString() }
            fail(.functionExecutionError, "there is no key for random bytes")
        } catch {
            fail(.functionExecutionError, "there is no key for random bytes: \(error)")
        }
        return nil
    }

    /// The failure with the place in the app's source where it occurred, or with the called function when the stack has only frames
    /// of the engine or the prelude.
    private func placed(_ failure: FunctionFailure) -> FunctionFailure {
        var failure = failure
        failure.message = Self.cut(failure.message)
        failure.stack = failure.stack.map(Self.cut)
        if failure.code == .functionSyntaxError { return failure }
        let place = failure.stack.flatMap { SourcePlace(stack: $0, sources: sources) }
        failure.function = place?.function ?? call.function
        failure.line = place?.line
        return failure
    }

    /// Truncates an error's text, since it goes into responses, logs and topics.
    private static func cut(_ text: String) -> String {
        text.utf8.count <= maximumFailureBytes
            ? text : String(decoding: text.utf8.prefix(maximumFailureBytes), as: UTF8.self) + "…"
    }

    private static let maximumFailureBytes = 8192

    private func log(_ words: [String]) {
        guard words.count == 3, loggedBytes <= Self.maximumLogBytes else { return }
        leaveTrace()
        loggedBytes += words[1].utf8.count
        let message =
            loggedBytes <= Self.maximumLogBytes
            ? words[1] : "console output beyond \(Self.maximumLogBytes) bytes is dropped"
        let place = SourcePlace(stack: words[2], sources: sources)
        let line = ConsoleLine(level: words[0], message: message, function: place?.function, line: place?.line)
        do { try connection?.send(.log(call: call.id, line)) } catch { fail(.hostLost, "\(error)") }
    }

    private func done(_ words: [String]) {
        guard result == nil, let text = words.first else { return }
        guard text.utf8.count <= Self.maximumResultBytes else {
            return fail(.sizeLimitExceeded, "the result has more than \(Self.maximumResultBytes) bytes")
        }
        do {
            end(
                .success(
                    text.isEmpty ? .undefined : try ExtendedJSON.parse(text, limits: .init(maximumDepth: 210))))
        } catch {
            fail(.functionExecutionError, "the result isn't Extended JSON: \(error)")
        }
    }

    private func failed(_ words: [String]) {
        guard result == nil else { return }
        let document = words.first.flatMap { try? ExtendedJSON.parseDocument($0) }  // the prelude's own text
        let failure =
            document.map { FunctionFailure($0) }
            ?? FunctionFailure(code: .functionExecutionError, message: "unknown")
        var found = placed(failure)
        // The prelude knows it of what has no stack.
        if failure.stack == nil, let function = failure.function {
            (found.function, found.line) = (function, failure.line)
        }
        end(.failure(found))
    }

    private func end(_ result: Result<Value, FunctionFailure>) {
        if ending == nil { ending = (result, ContinuousClock.now) }
    }

    private func setTimer(_ words: [String]) {
        guard words.count == 2, let id = Int(words[0]), let milliseconds = Double(words[1]) else { return }
        let due = ContinuousClock.now + .milliseconds(min(milliseconds, 86_400_000))
        timers[id] = due
        earliestTimer = earliestTimer.map { min($0, due) } ?? due
    }

    /// The time that was the earliest may stay: then nothing is due at it, and the next one is looked for.
    private func clearTimer(_ id: Int) {
        timers[id] = nil
        if timers.isEmpty { earliestTimer = nil }
    }
}

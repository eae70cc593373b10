import AppDefinition
import DocumentModel
import EventLoop
import FunctionProtocol

/// The results of rule functions during one call. Each question is asked once.
///
/// A question whose answer isn't known ends the attempt: the transaction ends, then the function runs, and the call starts again.
/// So no call waits for JavaScript while it holds a lock or a connection that the function may need.
final class RuleAnswers: Sendable {
    /// Thrown when the attempt can't continue without an answer.
    struct Missing: Error {}

    private struct Question: Sendable {
        let name: String
        let arguments: [Value]
    }

    private struct State {
        var known: [ExactText: RuleFunctionResult] = [:]
        var missing: [ExactText: Question] = [:]
        /// How many questions are collected before they are asked. It starts small because the first documents may suffice, and
        /// doubles each time.
        var batch = 8
    }

    /// A call that needs more answers than this is refused.
    private static let most = 20_000
    private static let largestBatch = 512
    private static let concurrency = 8

    private let ask: RuleExpression.FunctionCall
    private let state = Locked(State())

    init(_ ask: @escaping RuleExpression.FunctionCall) { self.ask = ask }

    /// The answer, if it is known. Otherwise remembers the question and throws `Missing`.
    func look(_ name: String, _ arguments: [Value]) throws -> RuleFunctionResult {
        let key = Self.key(name, arguments)
        return try state.withLock { state in
            if let known = state.known[key] { return known }
            state.missing[key] = Question(name: name, arguments: arguments)
            throw Missing()
        }
    }

    /// The answer; runs the function immediately if it isn't known.
    func askNow(_ name: String, _ arguments: [Value]) async throws -> RuleFunctionResult {
        let key = Self.key(name, arguments)
        if let known = state.withLock({ $0.known[key] }) { return known }
        let answer = try await ask(name, arguments)
        state.withLock { $0.known[key] = answer }
        return answer
    }

    /// Whether enough questions are collected to ask them before more documents are examined.
    var isBatchFull: Bool { state.withLock { $0.missing.count >= $0.batch } }

    /// Asks all missing questions.
    func askMissing() async throws {
        let questions = state.withLock { state in
            defer {
                state.missing = [:]
                state.batch = min(state.batch * 2, Self.largestBatch)
            }
            return state.missing
        }
        guard state.withLock({ $0.known.count }) + questions.count <= Self.most else {
            throw EffectFailure(
                name: "ExecutionTimeLimitExceeded",
                message: "the rules ask functions about more than \(Self.most) documents: add a filter")
        }
        try await withThrowingTaskGroup(of: (ExactText, RuleFunctionResult).self) { group in
            var rest = questions.makeIterator()
            var running = 0
            while true {
                while running < Self.concurrency, let (key, question) = rest.next() {
                    running += 1
                    group.addTask { (key, try await self.ask(question.name, question.arguments)) }
                }
                guard let (key, answer) = try await group.next() else { return }
                running -= 1
                state.withLock { $0.known[key] = answer }
            }
        }
    }

    /// Extended JSON keeps the types apart: equal numbers of different types are different arguments.
    private static func key(_ name: String, _ arguments: [Value]) -> String {
        name + ExtendedJSON.print(.array(arguments))
    }
}

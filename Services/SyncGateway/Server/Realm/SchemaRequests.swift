import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
import Logging
import RealmSync

/// Asks auth to add classes of clients to the schemas of apps in development mode.
///
/// Clients that have the same, such as a team's phones after an update, are one question.
final class SchemaRequests: Sendable {
    private struct Question: Hashable {
        let app: ExactText
        let classes: [UInt8]
    }

    private struct Asked {
        let id: String
        var waiting: [Int: AsyncStream<String?>.Continuation] = [:]
    }

    private struct State {
        var asked: [Question: Asked] = [:]
        var count = 0
    }

    /// How long an answer is awaited: a deployment takes less than a second, and as long as another one that is under way.
    private static let patience = Duration.seconds(25)
    /// The most different questions of an app at a time.
    private static let limit = 8
    /// The most bytes of a question.
    private static let bytes = 256 << 10

    private let producer: EventProducer
    private let clock: WallClock
    private let logger: Logger
    private let state = Locked(State())

    init(producer: EventProducer, clock: WallClock, logger: Logger) {
        self.producer = producer
        self.clock = clock
        self.logger = logger
    }

    /// Asks, and waits for the answer.
    /// - Returns: why the classes aren't added, for the client's developer; `nil` if the client is to try again: they are, or auth hasn't
    ///   answered, or the app has too many questions.
    /// - Throws: errors of the broker.
    func add(_ classes: ObjectSchema, of user: String, to app: String) async throws -> String? {
        let question = Question(app: ExactText(app), classes: classes.changeset().encoded())
        guard question.classes.count <= Self.bytes else {
            return "the client's schema has more than \(Self.bytes >> 10) KiB"
        }
        let (answers, continuation) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .bufferingNewest(1))
        guard let (number, id) = begin(question, continuation) else { return nil }
        defer { end(question, number) }
        if let id {
            try await producer.send(
                SchemaRequest(id: id, app: app, user: user, classes: question.classes, time: clock.now()))
        }
        // Auth may be away.
        let timer = Task {
            try await Task.sleep(for: Self.patience)
            continuation.yield(nil)
        }
        defer { timer.cancel() }
        var iterator = answers.makeAsyncIterator()
        return await iterator.next() ?? nil
    }

    /// - Returns: the caller's number, and the id under which it has to ask; `nil` if the same was asked already. `nil` for both if the app has
    ///   too many questions.
    private func begin(
        _ question: Question, _ continuation: AsyncStream<String?>.Continuation
    ) -> (number: Int, id: String?)? {
        state.withLock { state in
            let known = state.asked[question]
            guard known != nil || state.asked.keys.count(where: { $0.app == question.app }) < Self.limit else {
                return nil
            }
            state.count += 1
            var asked = known ?? Asked(id: UUID().uuidString.lowercased())
            asked.waiting[state.count] = continuation
            state.asked[question] = asked
            return (state.count, known == nil ? asked.id : nil)
        }
    }

    private func end(_ question: Question, _ number: Int) {
        state.withLock { state in
            state.asked[question]?.waiting[number] = nil
            if state.asked[question]?.waiting.isEmpty == true { state.asked[question] = nil }
        }
    }

    /// Handles events of `schema-answers`.
    func handle(_ events: [RawEvent<SchemaAnswer>]) {
        for event in events {
            do {
                let answer = try event.decoded().payload
                let waiting = state.withLock { state -> [AsyncStream<String?>.Continuation] in
                    guard let place = state.asked.firstIndex(where: { $0.value.id.hasSameBytes(as: answer.request) })
                    else { return [] }
                    return Array(state.asked.remove(at: place).value.waiting.values)
                }
                for one in waiting { one.yield(answer.refusal) }
            } catch {
                logger.error("an answer about a schema can't be read", metadata: ["error": "\(error)"])
            }
        }
    }
}

import Postgres

/// Asks Postgres for many callers at once: what is asked for while statements run is asked for together in the next one. So a caller that
/// is alone doesn't wait, and many don't cost a statement each.
actor StatementBatches<Question: Sendable, Answer: Sendable> {
    /// The statements that run at a time.
    private static var lanes: Int { 2 }
    /// The most questions of a statement.
    private static var limit: Int { 200 }

    private let ask: @Sendable ([Question]) async throws -> [Answer]
    private var waiting: [(question: Question, continuation: CheckedContinuation<Answer, any Error>)] = []
    private var running = 0

    /// - Parameter ask: answers as many questions as it gets, in their order, or fails for all of them.
    init(_ ask: @escaping @Sendable ([Question]) async throws -> [Answer]) {
        self.ask = ask
    }

    /// - Throws: what `ask` throws. When a question's statement is refused, each of its questions is asked alone, so that a wrong one
    ///   fails alone.
    func answer(to question: Question) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            waiting.append((question, continuation))
            guard running < Self.lanes else { return }
            running += 1
            Task { await work() }  // ends when nobody waits any more
        }
    }

    private func work() async {
        while !waiting.isEmpty {
            let batch = Array(waiting.prefix(Self.limit))
            waiting.removeFirst(batch.count)
            do {
                let answers = try await ask(batch.map(\.question))
                for (entry, answer) in zip(batch, answers) { entry.continuation.resume(returning: answer) }
            } catch let error as PostgresError where batch.count > 1 && error.isOfStatement {
                for entry in batch { await askAlone(entry.question, entry.continuation) }
            } catch {
                for entry in batch { entry.continuation.resume(throwing: error) }
            }
        }
        running -= 1
    }

    private func askAlone(_ question: Question, _ continuation: CheckedContinuation<Answer, any Error>) async {
        do {
            guard let answer = try await ask([question]).first else { throw CancellationError() }
            continuation.resume(returning: answer)
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

extension PostgresError {
    /// Whether it is about this statement: another one may succeed.
    fileprivate var isOfStatement: Bool { code == .server || code == .invalidParameter }
}

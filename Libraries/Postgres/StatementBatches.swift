public import EventLoop

/// Asks Postgres for many callers at once: what is asked for while statements run is asked for together in the next one. So a caller that
/// is alone doesn't wait, and many don't cost a statement each.
///
/// ``GatheredReads`` does the same for reads, and reads once what several callers ask for.
public actor StatementBatches<Question: Sendable, Answer: Sendable> {
    private typealias Waiting = (question: Question, continuation: CheckedContinuation<Answer, any Error>)

    private let limit: Int
    private let concurrent: Int
    private let loop: EventLoop?
    private let ask: @Sendable ([Question]) async throws -> [Answer]
    private let mayComeFromOne: @Sendable (any Error) -> Bool
    private var waiting: [Waiting] = []
    private var running = 0

    /// - Parameters:
    ///   - limit: The most questions that are asked together.
    ///   - concurrent: How many times it asks at a time.
    ///   - loop: The loop on which it asks; `nil` for Swift's own threads.
    ///   - ask: Answers as many questions as it gets, in their order, or fails for all of them.
    ///   - mayComeFromOne: Whether one of several questions may be the reason for an error.
    public init(
        limit: Int = 200, concurrent: Int = 2, on loop: EventLoop? = nil,
        _ ask: @escaping @Sendable ([Question]) async throws -> [Answer],
        mayComeFromOne: @escaping @Sendable (any Error) -> Bool = {
            ($0 as? PostgresError)?.mayComeFromValues == true
        }
    ) {
        self.limit = limit
        self.concurrent = concurrent
        self.loop = loop
        self.ask = ask
        self.mayComeFromOne = mayComeFromOne
    }

    /// - Throws: what `ask` throws. If one question may be the reason, the halves of those that were asked together are asked again, so
    ///   that it fails alone.
    public func answer(to question: Question) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            waiting.append((question, continuation))
            guard running < concurrent else { return }
            running += 1
            Task(executorPreference: loop?.taskExecutor) { await self.work() }  // ends when nobody waits any more
        }
    }

    private func work() async {
        while !waiting.isEmpty {
            let batch = waiting.prefix(limit)
            waiting.removeFirst(batch.count)
            await answer(batch)
        }
        running -= 1
    }

    private func answer(_ batch: ArraySlice<Waiting>) async {
        do {
            let answers = try await ask(batch.map(\.question))
            for (entry, answer) in zip(batch, answers) { entry.continuation.resume(returning: answer) }
        } catch let error where batch.count > 1 && mayComeFromOne(error) {
            let middle = batch.startIndex + batch.count / 2
            await answer(batch[..<middle])
            await answer(batch[middle...])
        } catch {
            for entry in batch { entry.continuation.resume(throwing: error) }
        }
    }
}

import DocumentModel
import DocumentStore
import EventLoop
import FunctionProtocol

/// A transaction that a script holds open over several calls: `startTransaction` to `commitTransaction`.
///
/// The store's transactions are closures; this one's closure waits for the script's calls and carries them out one after the
/// other.
final class ScriptTransaction: Sendable {
    private enum Step: Sendable {
        case perform(DocumentCall, FunctionEffect, DataAccess, CheckedContinuation<Value, any Error>)
        case commit
        case abort
    }

    private struct Aborted: Error {}

    private let steps: AsyncStream<Step>.Continuation
    private let work: Task<Void, any Error>

    init(store: DocumentStore, app: String, alongside: DocumentEffects.Alongside?) {
        // Bounded by the script: it has one call for each effect that it waits for.
        let (stream, continuation) = AsyncStream.makeStream(of: Step.self)
        steps = continuation
        let attempts = Locked(0)
        let written = Locked<[(FunctionEffect, Value)]>([])
        // Owned by this transaction; `commit` and `abort` wait for it.
        work = Task {
            defer { continuation.finish() }
            try await store.withTransaction(
                app: app,
                beforeCommit: { transaction in
                    for (effect, value) in written.withLock({ $0 }) { try await alongside?(transaction, effect, value) }
                }
            ) { session in
                // The script's calls can't be made again by the store: it is the script that begins anew.
                guard
                    attempts.withLock({
                        $0 += 1; return $0
                    }) == 1
                else {
                    throw DocumentStoreError(
                        .conflict, "the transaction met another one; begin it again", mongoCode: 112)
                }
                for await step in stream {
                    switch step {
                    case .perform(let call, let effect, let access, let answer):
                        do {
                            let value = try await access.perform(call, in: session)
                            if call.isWrite { written.withLock { $0.append((effect, value)) } }
                            answer.resume(returning: value)
                        } catch {
                            answer.resume(throwing: error)
                            throw error  // as in MongoDB, a failed operation ends the transaction
                        }
                    case .commit: return
                    case .abort: throw Aborted()
                    }
                }
                throw Aborted()
            }
        }
    }

    func perform(_ call: DocumentCall, _ effect: FunctionEffect, as access: DataAccess) async throws -> Value {
        try await withCheckedThrowingContinuation { answer in
            if case .terminated = steps.yield(.perform(call, effect, access, answer)) {
                answer.resume(
                    throwing: EffectFailure(
                        name: "MongoDBError", message: "the transaction has been aborted", code: 251))
            }
        }
    }

    func commit() async throws {
        steps.yield(.commit)
        try await work.value
    }

    func abort() async {
        steps.yield(.abort)
        _ = try? await work.value  // it ends with the abort's own error
    }
}

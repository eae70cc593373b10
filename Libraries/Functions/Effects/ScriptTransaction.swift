import DocumentModel
import DocumentStore
import EventLoop
import FunctionProtocol

/// A transaction that a script holds open over several calls, from `startTransaction` to `commitTransaction`.
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
    /// An operation failed; the script has got its error.
    private struct Failed: Error {}

    /// The error of an operation or a commit after the transaction has ended.
    private static let ended = EffectFailure(
        name: "MongoDBError", message: "the transaction has been aborted", code: 251,
        details: ["errorLabels": ["TransientTransactionError"]])

    private let steps: AsyncStream<Step>.Continuation
    private let work: Task<Void, any Error>
    /// The error of operations after the end: ``ended``, or the reason why the store was unavailable.
    private let refusal = Locked<any Error>(ScriptTransaction.ended)

    /// - Parameter turn: where it waits for its turn, before it takes a connection.
    init(store: DocumentStore, app: String, turn: DocumentTurn?, alongside: DocumentEffects.Alongside?) {
        // Bounded by the script: it has one call for each effect that it waits for.
        let (stream, continuation) = AsyncStream.makeStream(of: Step.self)
        steps = continuation
        let refusal = refusal
        // Owned by this transaction; `commit` and `abort` wait for it.
        work = Task {
            // No step is carried out after the end. Steps that already wait are refused here, later ones by `perform`.
            func close() async {
                continuation.finish()
                for await case .perform(_, _, _, let answer) in stream {
                    answer.resume(throwing: refusal.withLock { $0 })
                }
            }
            do {
                try await turn?.begin()
                defer { turn?.end() }
                try await Self.run(stream, on: store, app: app, alongside)
                await close()
            } catch {
                if let error = error as? DocumentStoreError, error.isOutage {
                    refusal.withLock { $0 = error }
                }
                await close()
                throw error
            }
        }
    }

    private static func run(
        _ stream: AsyncStream<Step>, on store: DocumentStore, app: String, _ alongside: DocumentEffects.Alongside?
    ) async throws {
        let attempts = Locked(0)
        let written = Locked<[DocumentEffects.Written]>([])
        try await store.withTransaction(
            app: app,
            beforeCommit: { transaction in
                let written = written.withLock { $0 }
                if !written.isEmpty { try await alongside?(transaction, written) }
            }
        ) { session in
            // The store can't repeat the script's calls; the script itself has to start the transaction again.
            guard
                attempts.withLock({
                    $0 += 1; return $0
                }) == 1
            else {
                throw DocumentStoreError(
                    .conflict, "the transaction conflicts with another one; start it again", mongoCode: 112)
            }
            for await step in stream {
                switch step {
                case .perform(let call, let effect, let access, let answer):
                    do {
                        let value = try await access.perform(call, in: session)
                        if call.changesDocuments {
                            written.withLock { $0.append(.init(effect: effect, result: .success(value))) }
                        }
                        answer.resume(returning: value)
                    } catch {
                        answer.resume(throwing: error)
                        throw Failed()  // as in MongoDB, a failed operation ends the transaction
                    }
                case .commit: return
                case .abort: throw Aborted()
                }
            }
            throw Aborted()
        }
    }

    func perform(_ call: DocumentCall, _ effect: FunctionEffect, as access: DataAccess) async throws -> Value {
        try await withCheckedThrowingContinuation { answer in
            if case .terminated = steps.yield(.perform(call, effect, access, answer)) {
                answer.resume(throwing: refusal.withLock { $0 })
            }
        }
    }

    /// Commits what the operations wrote. A repeated call returns or throws the same result.
    ///
    /// - Throws: `EffectFailure` with 251 after a failed operation or an abort.
    func commit() async throws {
        steps.yield(.commit)
        do {
            try await work.value
        } catch is Failed {
            throw Self.ended
        } catch is Aborted {
            throw Self.ended
        }
    }

    func abort() async {
        steps.yield(.abort)
        _ = try? await work.value  // it ends with the abort's own error
    }
}

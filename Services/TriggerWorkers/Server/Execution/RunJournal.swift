import DocumentModel
import EventLoop
import EventStream
import FunctionProtocol
import Functions
import Postgres

/// The results of the document calls of a trigger's run for one event.
///
/// A write commits together with its entry and those of the reads before it. A run that starts again is answered from the journal
/// up to where the earlier run had come, so nothing is written twice; a run whose calls differ from the journal is not
/// deterministic, and its event is dead-lettered.
final class RunJournal: Sendable {
    private struct Entry {
        let digest: String
        let result: Value
    }

    private struct State {
        var recorded: [Int64: Entry] = [:]
        /// Reads since the last write.
        var unwritten: [(Int64, Entry)] = []
        var divergence: String?
        /// The answer to the last entries that were sent.
        var answer: PostgresReply?
        var isOvertaken = false
    }

    private let run: RunRecords.Run
    private let state: Locked<State>

    /// Another worker, which considered this one dead, has run the same event, and has made this write or ended the run: a write must
    /// not be made twice.
    struct Overtaken: Error {}

    /// - Parameter entries: what an earlier run has recorded.
    init(_ run: RunRecords.Run, entries: [RunRecords.Entry]) throws {
        self.run = run
        var state = State()
        for entry in entries {
            state.recorded[entry.ordinal] = Entry(digest: entry.digest, result: try ExtendedJSON.parse(entry.result))
        }
        self.state = Locked(state)
    }

    /// How the run differs from the earlier one; `nil` when it made the same calls.
    var divergence: String? { state.withLock { $0.divergence } }

    var isOvertaken: Bool { state.withLock { $0.isOvertaken } }

    /// The recorded answer; `nil` when the run has come further than the earlier one.
    func answer(to effect: FunctionEffect) -> Result<Value, EffectFailure>? {
        state.withLock { state in
            guard let entry = state.recorded[effect.ordinal] else { return nil }
            guard entry.digest == effect.digest else {
                state.divergence =
                    "call \(effect.ordinal) is \(effect.action) with other arguments than in the run before"
                return .failure(EffectFailure(name: "NotDeterministic", message: "the run differs from the one before"))
            }
            return .success(entry.result)
        }
    }

    /// Records a call that was performed. Reads in a transaction are kept until it commits; its start and end are not recorded,
    /// since a run that starts again has to perform them again.
    func performed(_ effect: FunctionEffect, _ result: Value) {
        switch effect.action {
        case "startTransaction", "abortTransaction", "endSession": break
        case "commitTransaction": committed(effect)
        default:
            guard DocumentEffects.isWrite(effect) else {
                let entry = Entry(digest: effect.digest, result: result)
                return state.withLock { $0.unwritten.append((effect.ordinal, entry)) }
            }
            if effect.arguments["session"] == nil { committed(effect) }
        }
    }

    /// Sends the entries of a write and of the reads before it, in the write's transaction, and doesn't wait for an answer: the write's
    /// partition is locked meanwhile. After a failure ``failed()`` finds what it was.
    func write(_ effect: FunctionEffect, result: Value, in transaction: PostgresTransaction) async throws {
        let entries = state.withLock { state in
            state.unwritten + [(effect.ordinal, Entry(digest: effect.digest, result: result))]
        }
        let answer = try await transaction.send(
            "select partita.record_trigger_write($1, $2, $3, $4::bigint[], $5::text[], $6::text[], $7, $8)",
            [
                .text(run.app), .text(run.trigger), .text(run.event), .int8Array(entries.map(\.0)),
                .textArray(entries.map(\.1.digest)),
                .textArray(entries.map { ExtendedJSON.print($0.1.result) }),
                .text(HandledEvents.triggerRuns.consumer), .text(run.id),
            ])
        state.withLock { $0.answer = answer }
    }

    /// A write has failed: another worker may have been faster.
    func failed() async {
        guard let answer = state.withLock({ $0.answer }) else { return }
        do {
            _ = try await answer.rows()
        } catch let error as PostgresError where error.sqlstate == "PT410" {
            state.withLock { $0.isOvertaken = true }
        } catch {}  // the write itself has failed
    }

    /// The write, with the reads before it, has committed.
    private func committed(_ effect: FunctionEffect) {
        state.withLock { $0.unwritten.removeAll { $0.0 <= effect.ordinal } }
    }
}

extension FunctionEffect {
    /// Distinguishes calls: the action, with a hash of the service, the action and the arguments.
    var digest: String {
        let hash = Fingerprint("\(service) \(action) \(ExtendedJSON.print(arguments))".utf8)
        return "\(action):\(String(hash.value, radix: 16))"
    }
}

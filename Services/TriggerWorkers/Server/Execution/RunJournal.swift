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

    /// Writes the entries of a write and of the reads before it, in the write's transaction.
    func write(_ effect: FunctionEffect, result: Value, in transaction: PostgresTransaction) async throws {
        let entries = state.withLock { state in
            state.unwritten + [(effect.ordinal, Entry(digest: effect.digest, result: result))]
        }
        let rows = try await transaction.query(
            """
            insert into partita.trigger_journal (app, trigger, event, ordinal, digest, result)
            select $1, $2, $3, e.ordinal, e.digest, e.result
            from unnest($4::bigint[], $5::text[], $6::text[]) e(ordinal, digest, result)
            on conflict do nothing
            returning ordinal
            """,
            [
                .text(run.app), .text(run.trigger), .text(run.event), .int8Array(entries.map(\.0)),
                .textArray(entries.map(\.1.digest)),
                .textArray(entries.map { ExtendedJSON.print($0.1.result) }),
            ])
        // The end of a run deletes its entries. So a run that has ended is looked for after the insertion, by a statement that sees
        // what had committed until then: an end that commits later finds this entry, and the write that it belongs to.
        let isNew = try rows.contains { try $0.decode(0, as: Int64.self) == effect.ordinal }
        guard isNew, try await !HandledEvents.triggerRuns.contains(eventID: run.id, in: transaction) else {
            state.withLock { $0.isOvertaken = true }
            throw Overtaken()
        }
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

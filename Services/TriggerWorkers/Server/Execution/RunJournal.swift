import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import FunctionProtocol
import Functions
import Postgres

/// The results of the calls of a trigger's run for one event.
///
/// A write commits together with its entry and those of calls that were answered before: reads, and those of other services. A run that
/// starts again is answered from the journal up to where the earlier run had come, so nothing is written twice; a run whose calls differ from
/// the journal is not deterministic, and its event is dead-lettered. A run that starts again in the same process isn't sent to another service
/// for what that has done already, either.
final class RunJournal: Sendable {
    private struct Entry {
        let digest: String
        let result: Result<Value, EffectFailure>

        /// What follows the digest of a call that has failed.
        private static let failed = " failed"

        init(_ effect: FunctionEffect, _ result: Result<Value, EffectFailure>) {
            digest = effect.digest
            self.result = result
        }

        init(digest: String, _ result: Result<Value, EffectFailure>) { (self.digest, self.result) = (digest, result) }

        init(_ stored: RunRecords.Entry) throws {
            guard stored.digest.hasSuffix(Self.failed) else {
                (digest, result) = (stored.digest, .success(try ExtendedJSON.parse(stored.result)))
                return
            }
            digest = String(stored.digest.dropLast(Self.failed.count))
            result = .failure(EffectFailure(try ExtendedJSON.parseDocument(stored.result)))
        }

        /// Whether another service has done what it was asked for, by the status of HTTP if the answer has one.
        var isDone: Bool {
            guard case .success(let value) = result else { return false }
            return value["statusCode"]?.int64Value.map { $0 < 400 } ?? true
        }

        var stored: (digest: String, result: String) {
            switch result {
            case .success(let value): (digest, ExtendedJSON.print(value))
            case .failure(let failure): (digest + Self.failed, ExtendedJSON.print(failure.document))
            }
        }
    }

    /// Whose writes commit together: those of a session's transaction, or those of a call without one.
    private enum Unit: Hashable {
        case session(Int64)
        case call(Int64)

        init(of effect: FunctionEffect) {
            self = effect.arguments["session"]?.int64Value.map { .session($0) } ?? .call(effect.ordinal)
        }
    }

    private struct State {
        var recorded: [Int64: Entry] = [:]
        /// Reads and calls of other services since the last write, and calls that failed.
        var unwritten: [(Int64, Entry)] = []
        /// The ordinals of the entries that were sent in transactions that haven't committed yet. A call that is answered while one commits
        /// isn't among them, though it may have been made before the write.
        var sent: [Unit: Set<Int64>] = [:]
        /// What other services have done in this process, in the run and in those before it that have failed.
        var done: [Int64: Entry] = [:]
        var divergence: String?
        /// The answer to the last entries that were sent.
        var answer: PostgresReply?
        var isOvertaken = false

        /// The answer that another service has given to the same call of the attempt before. Once the calls differ, that says nothing.
        mutating func answerAgain(to effect: FunctionEffect) -> Result<Value, EffectFailure>? {
            guard let entry = done[effect.ordinal] else { return nil }
            guard entry.digest == effect.digest else {
                done = [:]
                return nil
            }
            unwritten.append((effect.ordinal, entry))
            return entry.result
        }
    }

    private let run: RunRecords.Run
    private let records: RunRecords
    /// The chain of triggers that leads to what the run writes, as Extended JSON.
    private let chain: String
    /// The turn in which it runs, if the trigger is ordered.
    private let turn: OrderedTurn?
    private let state: Locked<State>
    /// When the run began for the first time, in milliseconds since 1970: what it and those that start again take for the present.
    let start: Int64

    /// A larger answer of another service isn't recorded, in bytes: a run that starts again asks again.
    private static let largestAnswer = 1 << 20

    /// Another worker, which considered this one dead, has run the same event, and has made this write or ended the run: a write must
    /// not be made twice. Or it has the turn of an ordered trigger, and what was read may not hold any more.
    struct Overtaken: Error {}

    /// - Parameters:
    ///   - chain: The chain of triggers that leads to what the run writes.
    ///   - entries: what an earlier run has recorded.
    ///   - turn: the turn in which it runs, if the trigger is ordered.
    ///   - former: the journal of the attempt before this one in this process.
    ///   - now: the present, in milliseconds since 1970.
    init(
        _ run: RunRecords.Run, chain: TriggerChain, entries: [RunRecords.Entry], records: RunRecords,
        turn: OrderedTurn? = nil, after former: RunJournal? = nil, now: Int64
    ) throws {
        self.run = run
        self.chain = ExtendedJSON.print(chain.encoded())
        self.records = records
        self.turn = turn
        var state = State()
        for entry in entries { state.recorded[entry.ordinal] = try Entry(entry) }
        state.done = former?.state.withLock { $0.done } ?? [:]
        if case .success(let value)? = state.recorded[RunRecords.Entry.start]?.result, let time = value.int64Value {
            start = time
        } else {
            start = former?.start ?? now
            state.unwritten = [(RunRecords.Entry.start, Entry(digest: "start", .success(.int64(start))))]
        }
        self.state = Locked(state)
    }

    /// How the run differs from the earlier one; `nil` when it made the same calls.
    var divergence: String? { state.withLock { $0.divergence } }

    var isOvertaken: Bool { state.withLock { $0.isOvertaken } }

    /// The recorded answer; `nil` when the run has come further than the earlier one.
    func answer(to effect: FunctionEffect) -> Result<Value, EffectFailure>? {
        state.withLock { state in
            guard let entry = state.recorded[effect.ordinal] else { return state.answerAgain(to: effect) }
            guard entry.digest == effect.digest else {
                state.divergence =
                    "call \(effect.ordinal) is \(effect.action) with other arguments than in the run before"
                return .failure(EffectFailure(name: "NotDeterministic", message: "the run differs from the one before"))
            }
            return entry.result
        }
    }

    /// Records the answer of another service. One that refuses is asked again by a run that starts again, unless that run has written since.
    func answered(_ effect: FunctionEffect, _ result: Result<Value, EffectFailure>) {
        if case .success(let value) = result, value.memory > Self.largestAnswer { return }
        let entry = Entry(effect, result)
        state.withLock { state in
            state.unwritten.append((effect.ordinal, entry))
            if entry.isDone { state.done[effect.ordinal] = entry }
        }
    }

    /// Records a call that was performed. Reads in a transaction are kept until it commits; its start and end are not recorded,
    /// since a run that starts again has to perform them again.
    func performed(_ effect: FunctionEffect, _ result: Value) {
        switch effect.action {
        // What an earlier transaction of the session has sent didn't commit.
        case "startTransaction": state.withLock { $0.sent[Unit(of: effect)] = nil }
        case "abortTransaction", "endSession": break
        case "commitTransaction": committed(effect)
        default:
            guard DocumentEffects.isWrite(effect) else { return keep(effect, .success(result)) }
            if effect.arguments["session"] == nil { committed(effect) }
        }
    }

    /// Records a call that has failed, so that a run that starts again isn't told otherwise; unless it failed because another worker
    /// was faster.
    func failed(_ effect: FunctionEffect, _ failure: EffectFailure) async throws {
        guard try await !isLate(effect, failure) else { return state.withLock { $0.isOvertaken = true } }
        guard effect.arguments["session"] == nil else { return }
        // Some of its writes have committed, with its entry.
        if failure.details["writeErrors"] != nil { committed(effect) } else { keep(effect, .failure(failure)) }
    }

    private func keep(_ effect: FunctionEffect, _ result: Result<Value, EffectFailure>) {
        state.withLock { $0.unwritten.append((effect.ordinal, Entry(effect, result))) }
    }

    /// Whether another worker has made the write, or has ended the run.
    private func isLate(_ effect: FunctionEffect, _ failure: EffectFailure) async throws -> Bool {
        if let answer = state.withLock({ $0.answer }) {
            do {
                _ = try await answer.rows()
            } catch let error as PostgresError where error.sqlstate == "PT410" {
                return true
            } catch {}  // the write itself has failed
        }
        // The document that the other one has made by the same call may be what is in the way.
        guard failure.code == 11000, failure.details["writeErrors"] == nil else { return false }
        guard let entries = try await records.entries(of: [run])[0] else { return true }
        return entries.contains { $0.ordinal == effect.ordinal }
    }

    /// Sends the entries of a transaction's writes and of what was before them, in the transaction, and doesn't wait for an answer. After a
    /// failure ``failed(_:_:)`` finds what it was.
    func write(_ written: [DocumentEffects.Written], in transaction: PostgresTransaction) async throws {
        let entries = state.withLock { state in
            let entries = state.unwritten + written.map { ($0.effect.ordinal, Entry($0.effect, $0.result)) }
            if let first = written.first { state.sent[Unit(of: first.effect)] = Set(entries.map(\.0)) }
            return entries
        }
        let stored = entries.map(\.1.stored)
        let check = turn == nil ? "" : OrderedTurn.checkSQL(10) + ", "
        let answer = try await transaction.send(
            """
            select \(check)partita.record_trigger_write($1, $2, $3, $4::bigint[], $5::text[], $6::text[], $7, $8),
                \(DocumentStore.triggerChainSQL("$9"))
            """,
            [
                .text(run.app), .text(run.trigger), .text(run.event), .int8Array(entries.map(\.0)),
                .textArray(stored.map(\.digest)), .textArray(stored.map(\.result)),
                .text(HandledEvents.triggerRuns.consumer), .text(run.id), .text(chain),
            ] + (turn?.values(isBrief: written.allSatisfy { $0.effect.arguments["session"] == nil }) ?? []))
        state.withLock { $0.answer = answer }
    }

    /// The write has committed, with the entries that were sent with it.
    private func committed(_ effect: FunctionEffect) {
        state.withLock { state in
            let sent = state.sent.removeValue(forKey: Unit(of: effect)) ?? []
            state.unwritten.removeAll { sent.contains($0.0) }
        }
    }
}

extension FunctionEffect {
    /// Distinguishes calls: the action, with a hash of the service, the action and the arguments.
    var digest: String {
        let hash = Fingerprint("\(service) \(action) \(ExtendedJSON.print(arguments))".utf8)
        return "\(action):\(String(hash.value, radix: 16))"
    }
}

import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import FunctionProtocol
import Functions
import Logging
import Postgres
import QueryLanguage

/// Runs a trigger's function on an event: at least once, with its writes exactly once. Dead-letters the event when the function
/// fails permanently.
struct TriggerRunner: Sendable {
    let client: PostgresClient
    let store: DocumentStore
    let turns: DocumentTurns
    let functions: FunctionHostPool
    let effects: OutsideEffects
    let logs: FunctionLogs
    let events: EventProducer
    let loops: TriggerLoops
    let logger: Logger
    private let records: RunRecords
    private let waits = RetryWaits()

    init(
        client: PostgresClient, store: DocumentStore, turns: DocumentTurns, functions: FunctionHostPool,
        effects: OutsideEffects, logs: FunctionLogs, events: EventProducer, loops: TriggerLoops,
        logger: Logger
    ) {
        self.client = client
        records = RunRecords(client: client)
        self.store = store
        self.turns = turns
        self.functions = functions
        self.effects = effects
        self.logs = logs
        self.events = events
        self.loops = loops
        self.logger = logger
    }

    /// The waits between the attempts to run a function that throws.
    private static let retries = RetrySchedule(first: .milliseconds(250), limit: .seconds(20))
    /// How often a function is run that throws; and one that has met a conflict with other writers, whose transactions may take long.
    private static let attempts = (usual: 3, afterConflicts: 9)

    private static let notDeterministic = "not-deterministic"

    /// Returns when the event needs no further run: the run is done, was done before, or is dead-lettered.
    /// - Throws: when an engine is unavailable; the event is delivered again.
    func run(_ trigger: TriggerDefinition, of app: DeployedApp, on event: TriggerEvent) async throws {
        guard let entries = try await entries(of: [(trigger, app, event)])[0],
            try await perform(trigger, of: app, on: event, after: entries)
        else { return }
        try await end(trigger, of: app, on: event)
    }

    /// What earlier runs have recorded for events; `nil` for each that was handled.
    func entries(
        of runs: [(trigger: TriggerDefinition, app: DeployedApp, event: TriggerEvent)]
    ) async throws -> [[RunRecords.Entry]?] {
        try await records.entries(of: runs.map { Self.record($0.trigger, $0.app, $0.event) })
    }

    /// Which of these events an operator has published again after the trigger had failed on them.
    func areReplayed(
        _ runs: [(trigger: TriggerDefinition, app: DeployedApp, event: String)]
    ) async throws -> [Bool] {
        try await records.areReplayed(
            runs.map { RunRecords.Run(app: $0.app.id, trigger: $0.trigger.name, event: $0.event) })
    }

    /// The events for which runs of some triggers of an app have begun, by another worker for instance, and haven't ended.
    func begun(of triggers: [String], app: String) async throws -> [RunRecords.Run] {
        try await records.begun(of: triggers, app: app)
    }

    /// Records that a run which ``perform(_:of:on:after:in:)`` has done needs no repetition. Until then it would start again from its journal.
    func end(_ trigger: TriggerDefinition, of app: DeployedApp, on event: TriggerEvent) async throws {
        try await records.end(Self.record(trigger, app, event))
        TriggerMetrics.runs["done"].increment()
    }

    /// Runs the function.
    /// - Parameters:
    ///   - entries: What an earlier run has recorded.
    ///   - turn: The turn in which it runs, if the trigger is ordered.
    /// - Returns: whether the run is done, and ``end(_:of:on:)`` must be called; `false` when the event was handled or is dead-lettered.
    /// - Throws: when an engine is unavailable; the event is delivered again.
    func perform(
        _ trigger: TriggerDefinition, of app: DeployedApp, on event: TriggerEvent, after entries: [RunRecords.Entry],
        in turn: OrderedTurn? = nil
    ) async throws -> Bool {
        if let loop = loops.loop(of: trigger, app: app.id, on: event) {
            try await refuse(trigger, of: app, on: event, because: loop)
            return false
        }
        let record = Self.record(trigger, app, event)
        var entries: [RunRecords.Entry]? = entries
        var backoff = RetryBackoff(Self.retries)
        // So that, of events whose host is lost, only those of the function that is to blame fail again.
        var needsOwnHost = false
        var journal: RunJournal?
        while true {
            do {
                if backoff.failures > 0 { entries = try await records.entries(of: [record])[0] }
                guard let entries else { return false }
                let next = try RunJournal(
                    record, chain: event.chain(of: trigger),
                    entries: entries.filter { $0.ordinal != RunRecords.Entry.beginning }, records: records, turn: turn,
                    after: journal, now: WallClock.system.now())
                journal = next
                // One that begins anew makes other ids than before, when it may have inserted documents with them.
                let beginning = entries.first { $0.ordinal == RunRecords.Entry.beginning }?.result ?? ""
                try await runOnce(
                    record.id + beginning, with: next, trigger, of: app, on: event, needsOwnHost: needsOwnHost)
                return true
            } catch let failed as Failed {
                let failure = failed.failure, wait = backoff.next()
                // The process stood still, or the function waited for a service: its time limit says nothing about it.
                if failure.waitedForOthers, backoff.failures < Self.attempts.usual { continue }
                let attempts = failed.hasMetConflict ? Self.attempts.afterConflicts : Self.attempts.usual
                // A host may be lost for another reason; a function that crashes each host must not be tried for ever.
                let mayPass = failure.code == .functionExecutionError || failure.code == .hostLost
                needsOwnHost = needsOwnHost || failure.code == .hostLost
                if backoff.failures < attempts, mayPass {
                    TriggerMetrics.runs["retried"].increment()
                    // What another transaction was in the way of needs the time.
                    let isLimited = turn != nil && !failed.hasMetConflict
                    try await Task.sleep(
                        for: isLimited ? waits.take(wait, of: trigger.name, app: app.id) : wait)
                    continue
                }
                let error = TriggerFailure.Failure(
                    code: failure.code.rawValue, message: failure.message, function: failure.function,
                    line: failure.line.map { Int32(clamping: $0) })
                try await deadLetter(record.id, trigger, app, event, error, attempts: backoff.failures)
                return false
            } catch let divergence as Divergence {
                let error = TriggerFailure.Failure(
                    code: Self.notDeterministic, message: divergence.message, function: trigger.functionName)
                try await deadLetter(record.id, trigger, app, event, error, attempts: backoff.failures + 1)
                return false
            }
        }
    }

    /// Dead-letters an event for which the trigger's `match` or `project` fails.
    func refuse(
        _ trigger: TriggerDefinition, of app: DeployedApp, on event: TriggerEvent, because error: QueryError
    ) async throws {
        try await refuse(
            trigger, of: app, on: event,
            because: TriggerFailure.Failure(
                code: "match-failed", message: error.message, function: trigger.functionName))
    }

    /// Dead-letters an event for which the function isn't run.
    private func refuse(
        _ trigger: TriggerDefinition, of app: DeployedApp, on event: TriggerEvent, because error: TriggerFailure.Failure
    ) async throws {
        let id = Self.record(trigger, app, event).id
        guard try await !HandledEvents.triggerRuns.contains(eventID: id, in: client) else { return }
        try await deadLetter(id, trigger, app, event, error, attempts: 1)
    }

    private static func record(
        _ trigger: TriggerDefinition, _ app: DeployedApp, _ event: TriggerEvent
    ) -> RunRecords.Run {
        RunRecords.Run(app: app.id, trigger: trigger.name, event: event.id)
    }

    private struct Divergence: Error { let message: String }

    private struct Failed: Error {
        let failure: FunctionFailure
        let hasMetConflict: Bool
    }

    /// - Parameter id: tells the run from others, which make other random numbers and ids.
    private func runOnce(
        _ id: String, with journal: RunJournal, _ trigger: TriggerDefinition, of app: DeployedApp,
        on event: TriggerEvent, needsOwnHost: Bool
    ) async throws {
        let definition = app.definition
        let documents = DocumentEffects(
            store: store, app: app.id, definition: definition, turns: turns,
            alongside: { transaction, written in try await journal.write(written, in: transaction) })
        let invocation = FunctionInvocation(
            bundle: FunctionBundle(definition, version: app.version), share: "\(app.id)/triggers",
            function: trigger.functionName,
            arguments: [.document(event.argument)],
            context: FunctionContext(app: definition, isSystem: true).document, needsOwnHost: needsOwnHost,
            // Another one for each trigger: two that make an ObjectId for one event make two.
            seed: Int64(bitPattern: Fingerprint(id.utf8).value), now: journal.start,
            perform: { effect in
                if let answer = journal.answer(to: effect) { return answer }
                if RandomKey.isAsked(by: effect) {
                    let key = RandomKey.make()
                    journal.performed(effect, key)
                    return .success(key)
                }
                guard DocumentEffects.handles(effect, app: definition) else {
                    let result = await effects.perform(effect, of: definition, as: .system)
                    journal.answered(effect, result)
                    return result
                }
                let result = await documents.perform(effect)
                switch result {
                case .success(let value): journal.performed(effect, value)
                case .failure(let failure):
                    // Otherwise the run starts again, and is told something else.
                    guard await documents.outage == nil else { return result }
                    do {
                        try await journal.failed(effect, failure)
                    } catch {
                        await documents.fail(error)
                    }
                }
                return result
            },
            log: { logs.add(.init($0, app: app.id, function: trigger.functionName, trigger: trigger.name)) })
        do {
            _ = try await functions.run(invocation)
            await documents.finish()
        } catch {
            await documents.finish()
            if journal.isOvertaken { throw RunJournal.Overtaken() }
            if let divergence = journal.divergence { throw Divergence(message: divergence) }
            // The worker stops: the event is delivered again.
            if error is CancellationError { throw error }
            // The database failed, not the function: the event is delivered again.
            if let outage = await documents.outage { throw outage }
            guard let failure = error as? FunctionFailure else { throw error }
            throw Failed(failure: failure, hasMetConflict: await documents.hasMetConflict)
        }
        if journal.isOvertaken { throw RunJournal.Overtaken() }
        if let divergence = journal.divergence { throw Divergence(message: divergence) }
        // The function may have caught it.
        if let outage = await documents.outage { throw outage }
    }

    private func deadLetter(
        _ id: String, _ trigger: TriggerDefinition, _ app: DeployedApp, _ event: TriggerEvent,
        _ error: TriggerFailure.Failure,
        attempts: Int
    ) async throws {
        let failure = TriggerFailure(
            app: app.id, trigger: trigger.name, failedEvent: event.id, event: event.argument, error: error,
            causedBy: event.causedBy, attempts: Int32(clamping: attempts), time: WallClock.system.now())
        // The topic first: if the row can't be written, the event is delivered again, and the topic's readers receive the same dead
        // letter twice.
        try await events.send(failure, orIfTooLarge: failure.cut)
        try await client.withTransaction { transaction in
            guard try await HandledEvents.triggerRuns.claim(eventID: id, in: transaction) else { return }
            _ = try await transaction.query(
                """
                insert into partita.trigger_failures (app, trigger, event_id, event, code, message, function, line, attempts)
                values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                """,
                [
                    .text(app.id), .text(trigger.name), .text(event.id), .text(ExtendedJSON.print(event.argument)),
                    .legible(error.code), .legible(error.message), PostgresValue(error.function),
                    PostgresValue(error.line.map { Int64($0) }), .int(Int64(attempts)),
                ])
            // When it is replayed, it goes on after what it has done; unless that is why it failed.
            guard error.code == Self.notDeterministic else { return }
            _ = try await transaction.query(
                "delete from partita.trigger_journal where app = $1 and trigger = $2 and event = $3",
                [.text(app.id), .text(trigger.name), .text(event.id)])
        }
        logger.error(
            "a trigger failed, its event is dead-lettered",
            metadata: [
                "trigger.name": "\(trigger.name)", "event.id": "\(event.id)", "error.code": "\(error.code)",
                "attempt": "\(attempts)",
            ])
        logs.add(
            .init(
                app: app.id, function: error.function ?? trigger.functionName, trigger: trigger.name, level: "error",
                message: "\(error.code): \(error.message)", line: error.line))
        TriggerMetrics.deadLetters.increment()
    }
}

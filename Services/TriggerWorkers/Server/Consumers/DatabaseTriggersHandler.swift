import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import EventStream
import EventTopics
import FunctionProtocol
import Lifecycle
import Logging
import QueryLanguage

/// Runs database triggers, and writes the presence of users who get a document: for the events of one document in order, for those
/// of different documents concurrently, unless a trigger is ordered.
struct DatabaseTriggersHandler: ChangeHandler {
    let apps: AppDirectory
    let runner: TriggerRunner
    let missed: MissedEvents
    let flips: PresenceFlips
    let turns: OrderedTurns
    let history: ChangeHistory
    let logger: Logger

    private typealias Run = (trigger: TriggerDefinition, app: DeployedApp, event: TriggerEvent)

    func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections {
        // A trigger sees every event since it was deployed, including the one right after it.
        try await self.apps.refresh()
        try self.apps.requireReadable(apps)
        var concerned = ConcernedCollections()
        for app in apps.map(\.text) {
            if let presence = self.apps.app(app)?.definition.presence {
                concerned.add(app, database: presence.database, collection: presence.collection)
            }
            for trigger in self.apps.app(app)?.definition.triggers ?? [] where !trigger.isDisabled {
                guard case .database(let condition) = trigger.event else { continue }
                concerned.add(app, database: condition.database, collection: condition.collection)
            }
        }
        return concerned
    }

    func lane(of event: ReceivedEvent<DocumentChangesEvent>) -> String {
        guard let document = event.payload.document else { return event.key }
        return order(in: document.namespace, app: event.payload.app)
            .lane(of: document.key, in: document.namespace, app: event.payload.app)
    }

    private func order(in namespace: ChangeEvent.Namespace, app: String) -> EventOrder {
        apps.app(app)?.definition.eventOrder(in: namespace) ?? .document
    }

    func share(of event: ReceivedEvent<DocumentChangesEvent>) -> String {
        DocumentChangesEvent.parse(key: event.key)?.app ?? event.key
    }

    func assigned(isAll: Bool) async { await turns.assigned(isAlone: isAll) }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        // Events from a sweep are delivered without a call of `concern`.
        try await apps.refresh()
        try apps.requireReadable(events.map { ExactText(share(of: $0)) })
        if events.count == 1 { return try await handleLane(events) }
        // They came into one lane; under the present version of the app, in which no trigger is ordered any more, they may be of several.
        var lanes: [ExactText: [ReceivedEvent<DocumentChangesEvent>]] = [:]
        for event in events { lanes[lane(of: event), default: []].append(event) }
        try await withThrowingDiscardingTaskGroup { group in
            for events in lanes.values { group.addTask { try await handleLane(events) } }
        }
    }

    private func handleLane(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        guard let first = events.first, let document = first.payload.document,
            order(in: document.namespace, app: first.payload.app) != .document
        else { return try await run(events) }
        try await turns.take(
            lane(of: first), settle: { try await endBegun(in: document.namespace, of: first.payload.app, $0) }
        ) {
            try await run(events, in: $0)
        }
    }

    /// Goes on with what another worker, or this one before it was started again, had begun in an ordered lane: what it had read would be
    /// wrong after runs for other events. Their events will be delivered, too, to whoever has their partitions by then.
    private func endBegun(in namespace: ChangeEvent.Namespace, of id: String, _ turn: OrderedTurn) async throws {
        guard let app = apps.app(id) else { return }
        let triggers = app.definition.triggers(in: order(in: namespace, app: id), of: namespace)
            .filter { app.pause(of: $0.name) == nil }
        for begun in try await runner.begun(of: triggers.map(\.name), app: id) {
            guard let trigger = app.definition.trigger(begun.trigger), let place = ChangeEvent.place(id: begun.event),
                let change = try await history.change(app: id, partition: place.partition, revision: place.revision),
                case .database(let condition) = trigger.event,
                // Another version of the app may have a match that fails, as it will when the event is delivered.
                let argument = try? condition.argument(for: change)
            else { continue }
            try await end([(trigger, app, TriggerEvent(change, argument: argument))], in: turn)
        }
    }

    private func run(_ events: [ReceivedEvent<DocumentChangesEvent>], in turn: OrderedTurn? = nil) async throws {
        try await end(try await runs(for: events), in: turn)
    }

    private func end(_ runs: [Run], in turn: OrderedTurn?) async throws {
        let entries = try await runner.entries(of: runs)
        // A run's end is recorded while the next one runs.
        try await withThrowingTaskGroup(of: Void.self) { ends in
            for (run, entries) in zip(runs, entries) {
                // What is left of the batch is delivered again, here or elsewhere.
                if isGracefullyShuttingDown { throw CancellationError() }
                guard let entries, try await !isMissed(run),
                    try await runner.perform(run.trigger, of: run.app, on: run.event, after: entries, in: turn)
                else { continue }
                ends.addTask { try await runner.end(run.trigger, of: run.app, on: run.event) }
            }
            try await ends.waitForAll()
        }
    }

    /// Which triggers have to run, in order. Writes the presence of users who got a document.
    private func runs(for events: [ReceivedEvent<DocumentChangesEvent>]) async throws -> [Run] {
        var wanted: [Wanted] = []
        for event in events {
            guard case .change(let change) = event.payload, let app = apps.app(change.app) else { continue }
            try await flips.write(forDocumentOf: change)
            for trigger in app.definition.triggers {
                guard !trigger.isDisabled, case .database(let condition) = trigger.event, condition.concerns(change)
                else { continue }
                wanted.append(Wanted(trigger: trigger, condition: condition, app: app, change: change))
            }
        }
        var runs: [Run] = []
        for wanted in try await withoutEarlyOnes(wanted) {
            let (trigger, app, change) = (wanted.trigger, wanted.app, wanted.change)
            do throws(QueryError) {
                guard let argument = try wanted.condition.argument(for: change) else { continue }
                runs.append((trigger, app, TriggerEvent(change, argument: argument)))
            } catch {
                // It would fail on every attempt.
                let event = TriggerEvent(change, argument: change.encoded())
                try await runner.refuse(trigger, of: app, on: event, because: error)
            }
        }
        return runs
    }

    /// A trigger that is for a change, unless its `match` excludes it.
    private struct Wanted {
        let trigger: TriggerDefinition
        let condition: TriggerDefinition.Database
        let app: DeployedApp
        let change: ChangeEvent

        /// Whether the change is from before the trigger's deployment.
        var isEarly: Bool { change.wallTime < app.beginning(of: trigger.name) }
    }

    /// Leaves out changes from before a trigger's deployment, unless an operator wants them.
    private func withoutEarlyOnes(_ wanted: [Wanted]) async throws -> [Wanted] {
        let early = wanted.filter(\.isEarly)
        if early.isEmpty { return wanted }
        var areReplayed = try await runner.areReplayed(early.map { ($0.trigger, $0.app, $0.change.id) })[...]
        return wanted.filter { !$0.isEarly || areReplayed.popFirst() == true }
    }

    private func isMissed(_ run: Run) async throws -> Bool {
        guard let change = run.event.change else { return false }
        return try await missed.take(
            .change(partition: change.partition, revision: change.revision), id: run.event.id, time: run.event.time,
            for: run.trigger, of: run.app)
    }

    /// The runner dead-letters functions that fail; errors that arrive here mean that an engine is unavailable or a host was killed.
    func decide(
        _ error: any Error, on event: ReceivedEvent<DocumentChangesEvent>, attempts: Int
    ) async -> FailureDecision { .retry }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        logger.error("a change could not be read", metadata: ["error": "\(letter.error)"])
    }
}

extension TriggerEvent {
    init(_ change: ChangeEvent, argument: Document) {
        self.init(
            id: change.id, argument: argument, time: change.wallTime, change: (change.partition, change.revision),
            causedBy: change.causedBy)
    }
}

extension TriggerDefinition.Database {
    /// The function's argument; `nil` when the trigger's `match` doesn't match the event.
    func argument(for change: ChangeEvent) throws(QueryError) -> Document? {
        var event = change.encoded()
        if let match, try !match.evaluate(event, now: change.wallTime) { return nil }
        event[TriggerChain.field] = nil
        if !wantsDocumentBeforeChange { event["fullDocumentBeforeChange"] = nil }
        if !wantsFullDocument, change.operationType == .update { event["fullDocument"] = nil }
        return try projection?.apply(to: event, now: change.wallTime) ?? event
    }
}

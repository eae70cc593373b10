public import AppDefinition
public import DocumentModel
public import DocumentStore
import EventLoop
public import FunctionProtocol
public import Postgres

/// Carries out the document store calls of one run of a function.
public actor DocumentEffects {
    private let store: DocumentStore
    private let app: String
    private let definition: AppDefinition?
    private let access: @Sendable (FunctionEffect) -> DataAccess
    /// Called before each read and write; throws to refuse it.
    private let observe: @Sendable (DocumentCall) async throws -> Void
    /// The turn that calls and transactions wait for; `nil` when they don't wait.
    private let turn: DocumentTurn?
    /// Runs in each transaction that writes, at its end, with its writes and their results, for data that must commit together with them. A
    /// result is a failure if some writes of several are refused and the others commit.
    public typealias Alongside = @Sendable (PostgresTransaction, [Written]) async throws -> Void

    /// A write that a run has made.
    public struct Written: Sendable {
        public var effect: FunctionEffect
        public var result: Result<Value, EffectFailure>

        public init(effect: FunctionEffect, result: Result<Value, EffectFailure>) {
            self.effect = effect
            self.result = result
        }
    }

    private let alongside: Alongside?
    /// The error of a document store that was unavailable or overloaded during the run, even if the function caught it. The run's
    /// result isn't meaningful then.
    public private(set) var outage: DocumentStoreError?
    /// Whether a call has met a conflict with other writers, which may have passed when the run starts again.
    public private(set) var hasMetConflict = false
    private var isFinished = false
    private var transactions: [Int64: ScriptTransaction] = [:]
    /// The last transaction that each session committed, since a script may repeat the commit.
    private var committed: [Int64: ScriptTransaction] = [:]
    /// How often each session has met a conflict since its last commit.
    private var conflicts: [Int64: Int] = [:]

    /// - Parameters:
    ///   - definition: whose services the calls may name; without it, any name is that of the document store.
    ///   - access: on whose behalf an effect is carried out.
    ///   - turns: where the run's calls wait for their turns; `nil` for a run on whose result a caller waits that already has a
    ///     turn.
    ///   - user: the user whose turns they are; `nil` for the app's own.
    ///   - alongside: called for writes that are carried out as the system.
    public init(
        store: DocumentStore, app: String, definition: AppDefinition? = nil, turns: DocumentTurns? = nil,
        user: String? = nil,
        access: @escaping @Sendable (FunctionEffect) -> DataAccess = { _ in .system },
        observe: @escaping @Sendable (DocumentCall) async throws -> Void = { _ in },
        alongside: Alongside? = nil
    ) {
        self.store = store
        self.app = app
        self.definition = definition
        turn = turns?.turn(of: user, app: app)
        self.access = access
        self.observe = observe
        self.alongside = alongside
    }

    public func perform(_ effect: FunctionEffect) async -> Result<Value, EffectFailure> {
        // A run that will start again must not go on with what it didn't get.
        if alongside != nil, let outage { return .failure(EffectFailure(outage)) }
        do {
            return .success(try await value(of: effect))
        } catch {
            // An error of `alongside` is treated like one of the store's own writes.
            if let error = DocumentStoreError(ofCall: error) { note(error, of: effect) }
            return .failure(EffectFailure(error))
        }
    }

    private func note(_ error: DocumentStoreError, of effect: FunctionEffect) {
        if error.mongoCode == 112 {
            hasMetConflict = true
            if let session = effect.arguments["session"]?.int64Value { conflicts[session, default: 0] += 1 }
        }
        // In a transaction of its own, the function is told of a conflict, as by MongoDB.
        let isPassing = alongside != nil && effect.arguments["session"] == nil && error.mongoCode == 112
        if error.isOutage || isPassing { outage = error }
    }

    /// What the run needs besides its calls couldn't be read.
    public func fail(_ error: any Error) {
        outage = DocumentStoreError(.unavailable, "what the run has recorded can't be read", underlying: error)
    }

    /// Aborts the transactions that the run left open. None can start afterwards.
    public func finish() async {
        isFinished = true
        for transaction in transactions.values { await transaction.abort() }
        transactions = [:]
    }

    private func value(of effect: FunctionEffect) async throws -> Value {
        if let session = effect.arguments["session"]?.int64Value,
            effect.action.hasSuffix("Transaction") || effect.action == "endSession"
        {
            return try await control(effect.action, session: session)
        }
        let call = try DocumentCall(
            action: effect.action, arguments: effect.arguments, service: definition == nil ? nil : effect.service)
        if let definition { try call.checkService(in: definition) }
        try await observe(call)
        let access = access(effect)
        if let number = call.session, let transaction = transactions[number] {
            return try await transaction.perform(call, effect, as: access)
        }
        // A run with an open transaction already holds a turn. If it waited for a second one, runs could deadlock.
        guard transactions.isEmpty else { return try await perform(call, effect, as: access) }
        try await turn?.begin()
        defer { turn?.end() }
        return try await perform(call, effect, as: access)
    }

    /// Carries out a call outside of the script's transactions.
    private func perform(_ call: DocumentCall, _ effect: FunctionEffect, as access: DataAccess) async throws -> Value {
        guard call.changesDocuments, let alongside, case .system = access else {
            return try await access.perform(call, on: store, app: app)
        }
        let result = Locked(Result<Value, EffectFailure>.success(.undefined))
        return try await store.withTransaction(
            app: app, readsItsWrites: !call.writesOneDocument,
            beforeCommit: { try await alongside($0, [Written(effect: effect, result: result.withLock { $0 })]) }
        ) { session -> Result<Value, BulkWriteError> in
            do {
                let value = try await access.perform(call, in: session)
                result.withLock { $0 = .success(value) }
                return .success(value)
            } catch let error as BulkWriteError {
                // The other writes commit.
                result.withLock { $0 = .failure(EffectFailure(error)) }
                return .failure(error)
            }
        }.get()
    }

    private func control(_ action: String, session: Int64) async throws -> Value {
        switch action {
        case "startTransaction":
            guard transactions[session] == nil, !isFinished else {
                throw EffectFailure(name: "MongoDBError", message: "the session has a transaction already", code: 251)
            }
            committed[session] = nil
            if let met = conflicts[session] {
                // Two that wait for each other's locks both give up, and would do so again if they started at the same time.
                try await Task.sleep(for: DocumentStore.conflictRetries.delay(after: met))
            }
            transactions[session] = ScriptTransaction(store: store, app: app, turn: turn, alongside: alongside)
        case "commitTransaction":
            guard let transaction = transactions.removeValue(forKey: session) ?? committed[session] else {
                throw EffectFailure(name: "MongoDBError", message: "No transaction started", code: 251)
            }
            committed[session] = transaction
            try await transaction.commit()
            conflicts[session] = nil
        default: await transactions.removeValue(forKey: session)?.abort()
        }
        return .null
    }
}

extension DocumentStoreError {
    /// Whether the error is due to the store's state, not to the call.
    var isOutage: Bool { code == .unavailable || code == .overloaded }
}

extension DocumentEffects {
    /// Whether an effect changes documents.
    public static func isWrite(_ effect: FunctionEffect) -> Bool {
        (try? DocumentCall(action: effect.action, arguments: effect.arguments))?.changesDocuments ?? false
    }

    /// Whether an effect is about documents: its service is a document store of the app.
    public static func handles(_ effect: FunctionEffect, app: AppDefinition) -> Bool {
        app.hasDocumentStore(effect.service)
    }
}

public import AppDefinition
import DocumentModel
public import DocumentStore
import EventLoop
public import FunctionProtocol
public import Postgres

/// Carries out what a run of a function asks of the document store. One for each run.
public actor DocumentEffects {
    private let store: DocumentStore
    private let app: String
    private let access: @Sendable (FunctionEffect) -> DataAccess
    /// Called before each read and write with what it looks for: what an answer depends on.
    private let observe: @Sendable (DocumentCall) async throws -> Void
    /// Where its calls and transactions wait; `nil` where nothing has to wait.
    private let turn: DocumentTurn?
    /// Runs in the transaction of each write, with its result: what has to commit together with it.
    public typealias Alongside = @Sendable (PostgresTransaction, FunctionEffect, Value) async throws -> Void

    private let alongside: Alongside?
    /// What kept the document store from an answer, if anything did, whatever the function made of it. What came of the run says
    /// nothing then.
    public private(set) var outage: DocumentStoreError?
    private var isFinished = false
    private var transactions: [Int64: ScriptTransaction] = [:]
    /// The last transaction that each session committed: a script may ask again.
    private var committed: [Int64: ScriptTransaction] = [:]

    /// - Parameters:
    ///   - access: as whom an effect is carried out.
    ///   - turns: where the run's calls wait for their turns; none for a run that something waits for which has its turn.
    ///   - user: whose turns they are; `nil` for the app's own.
    ///   - alongside: for the system's writes.
    public init(
        store: DocumentStore, app: String, turns: DocumentTurns? = nil, user: String? = nil,
        access: @escaping @Sendable (FunctionEffect) -> DataAccess = { _ in .system },
        observe: @escaping @Sendable (DocumentCall) async throws -> Void = { _ in },
        alongside: Alongside? = nil
    ) {
        self.store = store
        self.app = app
        turn = turns?.turn(of: user, app: app)
        self.access = access
        self.observe = observe
        self.alongside = alongside
    }

    public func perform(_ effect: FunctionEffect) async -> Result<Value, EffectFailure> {
        do {
            return .success(try await value(of: effect))
        } catch {
            // What is written alongside fails as the store's own writes do.
            let error = (error as? PostgresError).map { DocumentStoreError($0) } ?? error
            if let error = error as? DocumentStoreError, error.isOutage { outage = error }
            return .failure(EffectFailure(error))
        }
    }

    /// Ends transactions that the run left open; nothing of them is written, and none begins from now on.
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
        let call = try DocumentCall(action: effect.action, arguments: effect.arguments)
        try await observe(call)
        let access = access(effect)
        if let number = call.session, let transaction = transactions[number] {
            return try await transaction.perform(call, effect, as: access)
        }
        // A run that has a transaction open has its turn: would it wait for another one, all could wait for each other.
        guard transactions.isEmpty else { return try await perform(call, effect, as: access) }
        try await turn?.begin()
        defer { turn?.end() }
        return try await perform(call, effect, as: access)
    }

    /// Carries a call out outside of transactions.
    private func perform(_ call: DocumentCall, _ effect: FunctionEffect, as access: DataAccess) async throws -> Value {
        guard call.isWrite, let alongside, case .system = access else {
            return try await access.perform(call, on: store, app: app)
        }
        let result = Locked(Value.undefined)
        return try await store.withTransaction(
            app: app, beforeCommit: { try await alongside($0, effect, result.withLock { $0 }) }
        ) { session in
            let value = try await access.perform(call, in: session)
            result.withLock { $0 = value }
            return value
        }
    }

    private func control(_ action: String, session: Int64) async throws -> Value {
        switch action {
        case "startTransaction":
            guard transactions[session] == nil, !isFinished else {
                throw EffectFailure(name: "MongoDBError", message: "the session has a transaction already", code: 251)
            }
            committed[session] = nil
            transactions[session] = ScriptTransaction(store: store, app: app, turn: turn, alongside: alongside)
        case "commitTransaction":
            guard let transaction = transactions.removeValue(forKey: session) ?? committed[session] else {
                throw EffectFailure(name: "MongoDBError", message: "No transaction started", code: 251)
            }
            committed[session] = transaction
            try await transaction.commit()
        default: await transactions.removeValue(forKey: session)?.abort()
        }
        return .null
    }
}

extension DocumentStoreError {
    /// Whether it says nothing of the call, and all of the store's state.
    var isOutage: Bool { code == .unavailable || code == .overloaded }
}

extension DocumentEffects {
    /// Whether an effect may change documents.
    public static func isWrite(_ effect: FunctionEffect) -> Bool {
        (try? DocumentCall(action: effect.action, arguments: effect.arguments))?.isWrite ?? false
    }

    /// Whether an effect is about documents: its service is one of the app's data sources.
    public static func handles(_ effect: FunctionEffect, app: AppDefinition) -> Bool {
        effect.service == "mongodb-atlas" || app.dataSources.contains { $0.name.hasSameBytes(as: effect.service) }
    }
}

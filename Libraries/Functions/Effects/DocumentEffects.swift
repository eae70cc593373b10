import DocumentModel
public import DocumentStore
public import FunctionProtocol
import QueryLanguage

/// Carries out what a run of a function asks of the document store. One for each run.
public actor DocumentEffects {
    private let store: DocumentStore
    private let app: String
    /// Called before each read and write with what it looks for: what an answer depends on.
    private let observe: @Sendable (DocumentCall) async throws -> Void
    /// Called in the transaction of each write, with its result: what has to commit together with it.
    private let alongside: (@Sendable (DocumentSession, FunctionEffect, Value) async throws -> Void)?
    private var transactions: [Int64: ScriptTransaction] = [:]

    public init(
        store: DocumentStore, app: String, observe: @escaping @Sendable (DocumentCall) async throws -> Void = { _ in },
        alongside: (@Sendable (DocumentSession, FunctionEffect, Value) async throws -> Void)? = nil
    ) {
        self.store = store
        self.app = app
        self.observe = observe
        self.alongside = alongside
    }

    public func perform(_ effect: FunctionEffect) async -> Result<Value, EffectFailure> {
        do {
            return .success(try await value(of: effect))
        } catch {
            return .failure(EffectFailure(error))
        }
    }

    /// Ends transactions that the run left open; nothing of them is written.
    public func finish() async {
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
        if let number = call.session, let transaction = transactions[number] {
            return try await transaction.perform { [alongside] session in
                let value = try await call.perform(on: session.collection(call.namespace))
                if call.isWrite { try await alongside?(session, effect, value) }
                return value
            }
        }
        guard call.isWrite, let alongside else {
            return try await call.perform(on: store.collection(call.namespace, app: app))
        }
        return try await store.transaction(app: app) { session in
            let value = try await call.perform(on: session.collection(call.namespace))
            try await alongside(session, effect, value)
            return value
        }
    }

    private func control(_ action: String, session: Int64) async throws -> Value {
        switch action {
        case "startTransaction":
            guard transactions[session] == nil else {
                throw EffectFailure(name: "MongoDBError", message: "the session has a transaction already", code: 251)
            }
            transactions[session] = ScriptTransaction(store: store, app: app)
        case "commitTransaction": try await transactions.removeValue(forKey: session)?.commit()
        default: await transactions.removeValue(forKey: session)?.abort()
        }
        return .null
    }
}

extension EffectFailure {
    /// What a script sees of an error: MongoDB's name and number where there is one.
    public init(_ error: any Error) {
        switch error {
        case let failure as EffectFailure: self = failure
        case let error as QueryError: self.init(name: "MongoDBError", message: error.message, code: error.code)
        case let error as DocumentStoreError:
            self.init(name: "MongoDBError", message: error.message, code: error.mongoCode)
        default: self.init(name: "MongoDBError", message: "the document store failed; the service's log says why")
        }
    }
}

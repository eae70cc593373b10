public import AppDefinition
public import DocumentModel
import DocumentStore
import FunctionProtocol

/// A user's access to documents under the data rules of one version of the app.
///
/// Reads return only the documents and fields that the user may see. The same restriction applies to what a write's filter finds
/// and what it changes (``RuledQuery``). A write is made first; then the rules check each affected document as it was before and as
/// it is after. If they refuse one, the whole call is rolled back.
public struct UserAccess: Sendable {
    private let app: AppDefinition
    private let version: Int64
    let context: RuleContext
    private let user: RuleUser
    private let functions: RuleFunctions

    /// - Parameter request: `%%request`.
    public init(
        _ user: RuleUser, of app: AppDefinition, version: Int64, request: Document? = nil, functions: RuleFunctions
    ) {
        self.app = app
        self.version = version
        self.user = user
        self.functions = functions
        var context = RuleContext(app: app, user: user)
        context.request = request
        self.context = context
    }

    /// Whether a rule that isn't about a document, such as `can_evaluate`, holds.
    /// - Parameter arguments: `%%args`, the arguments of a service's action; a bare name is one of them, too.
    public func holds(_ rule: RuleExpression, arguments: Document? = nil) async throws -> Bool {
        var context = context
        context.arguments = arguments
        context.root = arguments
        return try await rule.evaluate(context) {
            try await functions.call($0, $1, of: app, version: version, user: user)
        }
    }

    func perform(_ call: DocumentCall, on store: DocumentStore) async throws -> Value {
        let answers = answers()
        let request = RuleRequest(context: context) { try answers.look($0, $1) }
        let repeated = RepeatableCall()
        while true {
            do {
                guard call.isWrite else {
                    let collection = store.collection(
                        call.namespace.collection, database: call.namespace.database, app: app.id)
                    return try await ruled(collection, call, request, answers).read(call)
                }
                return try await repeated.attempt {
                    try await store.withTransaction(app: app.id, readsItsWrites: !call.writesOneDocument) { session in
                        try await write(call, in: session, request, answers)
                    }.get()
                }
            } catch is RuleAnswers.Missing {
                try await answers.askMissing()
            } catch {
                throw Self.named(error)
            }
        }
    }

    /// A transaction that continues after this call can't be started again, so rule functions run immediately.
    func perform(_ call: DocumentCall, in session: DocumentSession) async throws -> Value {
        let answers = answers()
        let request = RuleRequest(context: context) { try await answers.askNow($0, $1) }
        do {
            guard call.isWrite else {
                let collection = session.collection(call.namespace.collection, database: call.namespace.database)
                return try await ruled(collection, call, request, answers).read(call)
            }
            return try await write(call, in: session, request, answers).get()
        } catch {
            throw Self.named(error)
        }
    }

    /// The rules of a collection; `nil` if there are none.
    func rules(of namespace: ChangeEvent.Namespace, service: String?) -> DocumentRules? {
        DocumentRules(of: namespace, in: app, service: service)
    }

    func answers() -> RuleAnswers {
        RuleAnswers { try await functions.call($0, $1, of: app, version: version, user: user) }
    }

    private func ruled(
        _ collection: DocumentCollection, _ call: DocumentCall, _ request: RuleRequest, _ answers: RuleAnswers
    ) throws -> RuledCollection {
        try RuledCollection(
            collection, rules: { [app] in DocumentRules(of: $0, in: app, service: call.service) }, request: request,
            answers: answers)
    }

    /// - Returns: the answer, or the error of a bulk write of which only some writes failed. The others are to be committed.
    private func write(
        _ call: DocumentCall, in session: DocumentSession, _ request: RuleRequest, _ answers: RuleAnswers
    ) async throws -> Result<Value, BulkWriteError> {
        guard let rules = rules(of: call.namespace, service: call.service) else {
            throw RuleRefusal.noRules(for: call.namespace)
        }
        let restriction = try await rules.restriction(of: request)
        let review = RuledWrites(
            rules: rules, restriction: restriction, request: request, answers: answers, now: session.now)
        let (outcome, met) = try await review.finding {
            try await session.reviewing(by: review) {
                session -> Result<Result<Value, BulkWriteError>, DocumentStoreError> in
                do {
                    return .success(
                        .success(
                            try await call.withoutProjection.perform(
                                on: session.collection(call.namespace.collection, database: call.namespace.database))))
                } catch let error as BulkWriteError {
                    return .success(.failure(error))
                } catch let error as DocumentStoreError where Self.codesAboutContents.contains(error.code) {
                    // Who may not write the document isn't told that there is one with its `_id`, or how large it is.
                    return .failure(error)
                }
            }
        }
        var isMissing = false
        for document in met {
            do {
                if let refusal = try await rules.refusal(before: document.before, after: document.after, to: request) {
                    throw refusal
                }
            } catch is RuleAnswers.Missing {
                isMissing = true  // the other documents are examined only for further questions
            }
        }
        if isMissing { throw RuleAnswers.Missing() }
        let result = try outcome.get()
        guard case .success(.document(let found)) = result, call.returnsDocument else { return result }
        guard let visible = try await rules.visible(found, to: request) else { return .success(.null) }
        let projections = restriction.projections + (call.projection.map { [$0] } ?? [])
        return .success(
            .document(try ProjectionChain(projections, positionedBy: nil, now: session.now).apply(to: visible)))
    }

    /// The codes of errors that a document causes by what it, or another one, contains.
    private static let codesAboutContents: Set<DocumentStoreError.Code> = [
        .duplicateKey, .documentTooLarge, .schemaViolation,
    ]

    /// Removes the values of unique indexes from errors, since some may be hidden.
    private static func named(_ error: any Error) -> any Error {
        switch error {
        case var error as BulkWriteError:
            error.failures = error.failures.mapValues(\.withoutValues)
            return error
        case let error as DocumentStoreError: return error.withoutValues
        default: return error
        }
    }
}

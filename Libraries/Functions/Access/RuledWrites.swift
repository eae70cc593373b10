import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop

/// Reviews a call's writes under the data rules of its user.
final class RuledWrites: WriteReview {
    private let rules: DocumentRules
    private let restriction: DocumentRules.Restriction
    private let request: RuleRequest
    private let answers: RuleAnswers
    private let now: Int64
    private let isMissing = Locked(false)

    init(
        rules: DocumentRules, restriction: DocumentRules.Restriction, request: RuleRequest, answers: RuleAnswers,
        now: Int64
    ) {
        self.now = now
        self.rules = rules
        self.restriction = restriction
        self.request = request
        self.answers = answers
    }

    func query(_ filter: Document, sort: Document?, collation: Document?) throws -> any ReviewedQuery {
        Query(
            query: try RuledQuery(
                filter, sort: sort, collation: collation, rules: rules, restriction: restriction, request: request,
                now: now),
            writes: self)
    }

    /// Makes the writes. When a rule's answer was missing, throws `Missing` whatever their result, so that they are made again.
    func finding<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        do {
            let result = try await body()
            if isMissing.withLock({ $0 }) { throw RuleAnswers.Missing() }
            return result
        } catch {
            throw isMissing.withLock { $0 } ? RuleAnswers.Missing() : error
        }
    }

    /// A query that skips documents for which a rule's answer is missing, until a batch of questions is full.
    private struct Query: ReviewedQuery {
        let query: RuledQuery
        let writes: RuledWrites

        var stored: Document { query.stored }
        var inserted: Document { query.inserted }

        func view(of document: Document) async throws -> Document? {
            do {
                return try await query.view(of: document)
            } catch let missing as RuleAnswers.Missing {
                writes.isMissing.withLock { $0 = true }
                if writes.answers.isBatchFull { throw missing }
                return nil
            }
        }

        func merging(_ changed: Document, madeOf view: Document, into document: Document) async throws -> Document {
            try await query.merging(changed, madeOf: view, into: document)
        }

        func told(_ error: DocumentStoreError, about document: Document) async throws -> any Error {
            try await query.told(error, about: document)
        }
    }
}

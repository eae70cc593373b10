import DocumentModel
import Postgres
import QueryLanguage

/// What becomes of the rows that Postgres returns.
struct ReadOutput {
    let filter: Filter
    private let projection: Projection?
    /// Fields of the result that have something other than fields in them.
    private let metadata: [(field: String, of: DocumentMetadata)]
    private let hasScore: Bool

    /// - Parameter hasScore: Whether the rows' second column is the score of a `$text`.
    init(filter: Filter, options: FindOptions, hasScore: Bool = false) throws {
        self.filter = filter
        self.hasScore = hasScore
        var rest = options.projection ?? [:]
        var metadata: [(field: String, of: DocumentMetadata)] = []
        for field in rest.fields {
            guard let asked = DocumentMetadata.asked(field.value) else { continue }
            guard hasScore, asked == .textScore else {
                throw DocumentStoreError(
                    .badFilter, "query requires \(asked.rawValue) metadata, but it is not available", mongoCode: 40218)
            }
            rest[field.key] = nil
            metadata.append((field.key, asked))
        }
        self.metadata = metadata
        do {
            projection = rest.isEmpty ? nil : try Projection(rest)
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// The row's document if it matches.
    func document(of row: PostgresRow) throws -> Document? {
        var document = try row.withBytes(0) { bytes -> Document in
            guard let bytes else { throw DocumentStoreError(.corruptRow, "a body is null") }
            do {
                return try ExtendedJSON.parseDocument(bytes)
            } catch {
                throw DocumentStoreError(.corruptRow, "a body is no Extended JSON", underlying: error)
            }
        }
        do {
            guard try filter.evaluate(document) else { return nil }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
        if hasScore { document[DocumentMetadata.textScore.field] = .double(try row.decode(1)) }
        return document
    }

    func projected(_ document: Document) throws -> Document {
        var result = document
        if let projection {
            do {
                result = try projection.apply(to: document, filter: filter)
            } catch {
                throw DocumentStoreError(query: error, .badFilter)
            }
        }
        if hasScore { result.fields.removeAll { $0.key == DocumentMetadata.textScore.field } }
        for (field, metadata) in metadata { result[field] = document[metadata.field] }
        return result
    }
}

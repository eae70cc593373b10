import DocumentModel
import Postgres
import QueryLanguage

/// Turns the rows that Postgres returns into results.
struct ReadOutput {
    let filter: Filter
    private let projection: Projection?
    /// The fields of the result that get metadata (`$meta`).
    private let metadata: [(field: String, of: DocumentMetadata)]
    private let hasScore: Bool
    /// The moment of `$$NOW`.
    private let now: Int64
    /// Where to note what is read.
    private let trace: (reads: ReadTrace, namespace: ChangeEvent.Namespace)?

    /// - Parameters:
    ///   - hasScore: Whether the rows' second column is the score of a `$text`.
    ///   - collection: The collection whose reads are recorded if it is in a session.
    init(
        filter: Filter, options: FindOptions, now: Int64, hasScore: Bool = false,
        in collection: DocumentCollection? = nil
    ) throws {
        self.filter = filter
        self.now = now
        trace = collection.flatMap { collection in collection.session.map { ($0.reads, collection.namespace) } }
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
            let constants = options.variables.isEmpty ? [:] : try CommandVariables(options.variables, now: now).values
            projection = rest.isEmpty ? nil : try Projection(rest, constants: constants)
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// The row's document; `nil` if it doesn't match.
    func document(of row: PostgresRow) throws -> Document? {
        var document = try row.document(0)
        do {
            guard try filter.evaluate(document, now: now) else { return nil }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
        if let trace {
            try row.withBytes(0) { bytes in
                if let bytes { trace.reads.note(document, in: trace.namespace, body: UnsafeRawBufferPointer(bytes)) }
            }
        }
        if hasScore { document[DocumentMetadata.textScore.field] = .double(try row.decode(1)) }
        return document
    }

    func projected(_ document: Document) throws -> Document {
        var result = document
        if let projection {
            do {
                result = try projection.apply(to: document, filter: filter, now: now)
            } catch {
                throw DocumentStoreError(query: error, .badFilter)
            }
        }
        if hasScore { result.fields.removeAll { $0.key == DocumentMetadata.textScore.field } }
        for (field, metadata) in metadata { result[field] = document[metadata.field] }
        return result
    }
}

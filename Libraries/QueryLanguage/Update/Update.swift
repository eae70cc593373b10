import DocumentModel

/// An update: operators, a replacement, or an aggregation pipeline. Parsed once, applied to many documents.
public struct Update: Sendable {
    enum Form: Sendable {
        case operators([UpdateOperation], [ExactText: ArrayFilter])
        case replacement(Document)
        case pipeline(UpdatePipeline)
    }

    let form: Form

    /// Parses an update document: operators if its first key begins with `$`, else a replacement.
    /// - Parameter arrayFilters: the filters that `$[name]` refers to.
    public init(_ document: Document, arrayFilters: [Document] = []) throws(QueryError) {
        guard let first = document.fields.first, first.key.utf8.first == UInt8(ascii: "$") else {
            guard arrayFilters.isEmpty else {
                throw .failedToParse("arrayFilters may not be specified for a replacement")
            }
            for field in document.fields where field.key.utf8.first == UInt8(ascii: "$") {
                throw QueryError(
                    code: 52,
                    message:
                        "The dollar ($) prefixed field '\(field.key)' in '\(field.key)' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith."
                )
            }
            form = .replacement(document)
            return
        }
        let operations = try UpdateParser.operations(document)
        form = .operators(operations, try UpdateParser.arrayFilters(arrayFilters, for: operations))
    }

    /// Parses an update pipeline: `$set`, `$addFields`, `$unset`, `$project`, `$replaceRoot`, `$replaceWith`.
    /// - Parameter variables: constants that the stages may use, such as the `$$new` that `$merge` passes to its pipeline.
    public init(pipeline: [Document], variables: [ExactText: Value] = [:]) throws(QueryError) {
        form = .pipeline(try UpdatePipeline(pipeline, variables: variables))
    }

    /// Parses a command's update: a document or an array of stages.
    ///
    /// Disfavored, so that a literal is a document.
    /// - Parameter constants: the values that the expressions of stages use as `$$name`.
    @_disfavoredOverload
    public init(
        _ value: Value, arrayFilters: [Document] = [], constants: [ExactText: Value] = [:]
    ) throws(QueryError) {
        switch value {
        case .document(let document): try self.init(document, arrayFilters: arrayFilters)
        case .array(let elements):
            guard arrayFilters.isEmpty else {
                throw .failedToParse("arrayFilters may not be specified for pipeline-syle updates")
            }
            var stages: [Document] = []
            for element in elements {
                guard case .document(let stage) = element else {
                    throw .typeMismatch("Each element of the 'pipeline' array must be an object")
                }
                stages.append(stage)
            }
            try self.init(pipeline: stages, variables: constants)
        default: throw .failedToParse("Update argument must be either an object or an array")
        }
    }

    /// The operators with their paths and operands in the order in which they apply; empty for a replacement and a pipeline.
    public var operations: [UpdateOperation] { if case .operators(let operations, _) = form { operations } else { [] } }

    /// The document of a replacement.
    public var replacement: Document? { if case .replacement(let document) = form { document } else { nil } }

    /// Changes a document. If it throws, the document is unchanged.
    /// - Parameters:
    ///   - filter: the filter that found the document; determines the index of the positional `$`.
    ///   - isUpsertInsert: whether the document is about to be inserted, so that `$setOnInsert` applies and `_id` may be set.
    ///   - now: milliseconds since 1970, for `$currentDate` and `$$NOW`.
    /// - Returns: what changed, as a change stream shows it; empty if nothing did. For a replacement, it has every field that
    ///   differs.
    @discardableResult
    public func apply(
        to document: inout Document, filter: Filter? = nil, isUpsertInsert: Bool = false, now: Int64
    ) throws(QueryError) -> UpdateDescription {
        switch form {
        case .operators(let operations, let arrayFilters):
            return try UpdateApplication(
                operations: operations, arrayFilters: arrayFilters, filter: filter, isUpsertInsert: isUpsertInsert,
                now: now
            ).apply(to: &document)
        case .replacement(var replacement):
            if let id = document.id {
                if let given = replacement.id {
                    guard given == id else {
                        throw QueryError(
                            code: 66,
                            message:
                                "After applying the update, the (immutable) field '_id' was found to have been altered to _id: \(given)"
                        )
                    }
                    replacement["_id"] = nil
                }
                replacement.fields.insert(Document.Field("_id", id), at: 0)
            }
            try Self.check(replacement)
            let description = DocumentDifference.between(document, replacement)
            document = replacement
            return description
        case .pipeline(let pipeline):
            let result = try pipeline.apply(to: document, now: now)
            if let id = document.id, !isUpsertInsert, result.id != id {
                throw QueryError(
                    code: 66,
                    message: "After applying the update, the (immutable) field '_id' was found to have been altered")
            }
            try Self.check(result)
            let description = DocumentDifference.between(document, result)
            document = result
            return description
        }
    }

    private static func check(_ document: Document) throws(QueryError) {
        switch ValueBounds().excess(of: document) {
        case nil: break
        case .depth?: throw QueryError(code: 15, message: "the document is nested deeper than 100 levels")
        case .bytes?: throw QueryError(code: 10334, message: "the document is larger than 16 MiB")
        }
    }

    /// The document that an upsert inserts if the filter found none: the filter's equalities, then this update.
    /// - Parameter makeId: generates the `_id` if neither filter nor update has one.
    public func upsertDocument(for filter: Filter, now: Int64, makeId: () -> Value = { .objectId(ObjectId()) })
        throws(QueryError) -> Document
    {
        var document = Document()
        if let replacement {
            document = replacement
            if document.id == nil, let id = filter.equalities.first(where: { $0.path.description == "_id" })?.value {
                document.fields.insert(Document.Field("_id", id), at: 0)
            }
        } else {
            try Self.take(filter.equalities, into: &document)
            try apply(to: &document, isUpsertInsert: true, now: now)
        }
        let id = document.id ?? makeId()
        if let wanted = filter.equalities.first(where: { $0.path.description == "_id" })?.value, wanted != id {
            throw QueryError(
                code: 66, message: "Performing an update on the path '_id' would modify the immutable field '_id'")
        }
        document["_id"] = nil
        document.fields.insert(Document.Field("_id", id), at: 0)
        return document
    }

    private static func take(_ equalities: [(path: Path, value: Value)], into document: inout Document)
        throws(QueryError)
    {
        var taken: Set<Path> = [], above: Set<Path> = []
        for (index, (path, value)) in equalities.enumerated() {
            try QueryError.throwIfInterrupted(every: index)
            let parents = sequence(first: path, next: \.parent).dropFirst()
            guard !above.contains(path), parents.allSatisfy({ !taken.contains($0) }), taken.insert(path).inserted else {
                throw QueryError(
                    code: 54, message: "cannot infer query fields to set, path '\(path)' is matched twice")
            }
            above.formUnion(parents)
            guard document.set(value, at: path) else { throw .pathNotViable("Cannot create field '\(path)'") }
        }
    }
}

import DocumentModel

/// The part of each document that a query returns.
public struct Projection: Sendable {
    /// What happens to fields that the specification doesn't name.
    public enum Mode: Sendable {
        /// Only named fields are kept, and `_id` unless it is excluded.
        case inclusion
        /// Fields that aren't named are kept.
        case exclusion
        /// All fields are kept, and values are added (`$addFields`).
        case addition
    }

    /// The parsed tree.
    public let children: [ProjectionNode.Child]
    /// What happens to other fields.
    public let mode: Mode
    /// `field.$`: of the first array on this path, only the element that made the filter match is kept.
    public private(set) var positional: Path?
    /// The variables that expressions use as `$$name`, which are the same for every document.
    private var constants: [ExactText: Value] = [:]

    /// Parses the projection of a `find`.
    /// - Parameter constants: the values that its expressions use as `$$name`.
    public init(_ document: Document, constants: [ExactText: Value] = [:]) throws(QueryError) {
        try self.init(document, isStage: false, variables: Set(constants.keys))
        self.constants = constants
    }

    /// Parses the projection of a `find`, or of a `$project`, in which `$slice` and `$elemMatch` aren't projections.
    init(_ document: Document, isStage: Bool, variables: Set<ExactText>) throws(QueryError) {
        var parser = ProjectionParser(isStage: isStage, variables: variables)
        (children, mode) = try parser.parse(document)
        positional = parser.positional
    }

    /// Parses the fields that `$addFields` adds.
    init(adding document: Document, variables: Set<ExactText>) throws(QueryError) {
        var parser = ProjectionParser(isStage: true, variables: variables)
        children = try parser.parseAddition(document)
        mode = .addition
    }

    /// Drops the fields at these paths (`$unset`).
    init(removing paths: [String]) throws(QueryError) {
        var parser = ProjectionParser(isStage: true, variables: [])
        // A path that occurs twice has to be detected.
        (children, mode) = try parser.parse(Document(fields: paths.map { Document.Field($0, .bool(false)) }))
    }

    /// The projected document.
    /// - Parameters:
    ///   - filter: the filter that found the document; needed for `field.$`.
    ///   - now: the time of `$$NOW`, in milliseconds since 1970.
    public func apply(to document: Document, filter: Filter? = nil, now: Int64 = 0) throws(QueryError) -> Document {
        try apply(
            to: document, filter: filter,
            context: EvaluationContext(root: document, variables: constants, now: now))
    }

    func apply(to document: Document, filter: Filter? = nil, context: EvaluationContext) throws(QueryError) -> Document
    {
        var result = try ProjectionRun(mode: mode, context: context).apply(children, to: document)
        if let positional {
            let position = try filter?.positionalIndex(in: document, now: context.now)
            try Self.keep(position, of: &result, at: positional.components[...])
        }
        return result
    }

    /// Keeps one element of the first array on a path; if there is no array, nothing changes.
    private static func keep(
        _ position: Int?, of document: inout Document, at path: ArraySlice<Path.Component>
    ) throws(QueryError) {
        guard let first = path.first, let index = document.index(of: first.name) else { return }
        switch document.fields[index].value {
        case .array(let elements):
            let failure = "Executor error during find command :: caused by :: positional operator '.$'"
            guard let position else {
                throw QueryError(code: 51246, message: "\(failure) couldn't find a matching element in the array")
            }
            guard elements.indices.contains(position) else {
                throw QueryError(code: 51247, message: "\(failure) element mismatch")
            }
            document.fields[index].value = .array([elements[position]])
        case .document(var below):
            try keep(position, of: &below, at: path.dropFirst())
            document.fields[index].value = .document(below)
        default: break
        }
    }
}

/// One projection of one document.
private struct ProjectionRun {
    let mode: Projection.Mode
    let context: EvaluationContext

    func apply(_ children: [ProjectionNode.Child], to document: Document) throws(QueryError) -> Document {
        var result = Document()
        let places = NamedPlaces(children, searches: document.count)
        let present = NamedPlaces(document.fields, searches: children.count)
        for field in document.fields {
            guard let child = places.index(of: field.key).map({ children[$0] }) else {
                if mode != .inclusion { result.fields.append(field) }
                continue
            }
            if let value = try apply(child.node, to: field.value) {
                result.fields.append(Document.Field(field.key, value))
            }
        }
        for child in children where child.node.hasComputed {
            switch child.node {
            case .computed(let expression):
                if mode == .addition, present.index(of: child.name) != nil { continue }
                try QueryError.throwIfInterrupted()
                guard let value = try expression.evaluate(context) else { continue }
                // The loop above has left out computed fields, so the name is new.
                let place = child.name == "_id" ? 0 : result.fields.count
                result.fields.insert(Document.Field(child.name, value), at: place)
            case .children(let below) where present.index(of: child.name) == nil:
                let value = Value.document(try apply(below, to: Document()))
                result.fields.append(Document.Field(child.name, value))
            default: break
            }
        }
        return result
    }

    /// The value that replaces this one at its place; `nil` if there is none, or if it is appended at the end.
    private func apply(_ node: ProjectionNode, to value: Value) throws(QueryError) -> Value? {
        switch node {
        case .include: return value
        case .exclude: return nil
        case .computed(let expression):
            guard mode == .addition else { return nil }
            try QueryError.throwIfInterrupted()
            return try expression.evaluate(context)
        case .children(let children): return try apply(children, to: value, computes: node.hasComputed)
        case .slice(let skip, let limit):
            guard case .array(let elements) = value else { return value }
            return .array(Self.slice(elements, skip, limit))
        case .elementMatch(let condition):
            guard case .array(let elements) = value else { return nil }
            let matcher = FilterMatcher(collation: context.collation, now: context.now)
            for element in elements where try matcher.matches(condition, .array([element])) { return .array([element]) }
            return nil
        }
    }

    private func apply(_ children: [ProjectionNode.Child], to value: Value, computes: Bool) throws(QueryError) -> Value?
    {
        switch value {
        case .document(let document): return .document(try apply(children, to: document))
        case .array(let elements):
            var results: [Value] = []
            for element in elements {
                if let result = try apply(children, to: element, computes: computes) { results.append(result) }
            }
            return .array(results)
        default:
            if computes { return .document(try apply(children, to: Document())) }
            return mode == .inclusion ? nil : value
        }
    }

    private static func slice(_ elements: [Value], _ skip: Int?, _ limit: Int) -> [Value] {
        guard let skip else {
            return limit < 0 ? Array(elements.suffix(-max(limit, -elements.count))) : Array(elements.prefix(limit))
        }
        let start = skip < 0 ? max(0, elements.count + max(skip, -elements.count)) : min(skip, elements.count)
        return Array(elements[start...].prefix(limit))
    }
}

import DocumentModel

/// A query filter: parsed once, matched against many documents.
public struct Filter: Sendable {
    /// The parsed tree.
    public let node: FilterNode
    /// The document from which the filter was parsed.
    public let document: Document
    /// How strings are compared; `nil` for comparison by their bytes.
    public private(set) var collation: Collation?
    /// The path and condition of `$near`, which orders the results; `nil` if the filter has none.
    public let nearness: (path: Path, condition: GeoCondition)?
    /// The variables that `$expr` uses as `$$name`, which are the same for every document.
    private let constants: [ExactText: Value]

    /// Parses a filter. Unknown and unsupported operators are refused with an error that names them.
    /// - Parameters:
    ///   - variables: the names of variables that `$expr` may use, without `$$`.
    ///   - constants: further variables with their values.
    public init(
        _ document: Document, collation: Collation? = nil, variables: Set<ExactText> = [],
        constants: [ExactText: Value] = [:]
    ) throws(QueryError) {
        self.constants = constants
        var parser = FilterParser(variables: variables.union(constants.keys))
        node = try parser.parse(document)
        self.document = document
        self.collation = collation
        nearness = parser.nearness
    }

    /// The filter that matches every document.
    public static let all = Filter()

    private init() {
        node = .and([])
        document = Document()
        collation = nil
        nearness = nil
        constants = [:]
    }

    /// The same filter with strings compared by a collation.
    func collated(by collation: Collation?) -> Filter {
        var filter = self
        filter.collation = collation
        return filter
    }

    /// Whether a document matches. An error in the evaluation of `$expr`, or a regular expression that exceeds its limits, counts
    /// as no match; `evaluate` throws it.
    /// - Parameter now: the time of `$$NOW`, in milliseconds since 1970.
    public func matches(_ document: Document, now: Int64) -> Bool {
        // Documented above: a caller that needs the reason calls `evaluate`.
        (try? evaluate(document, now: now)) ?? false
    }

    /// Whether a document matches.
    /// - Parameters:
    ///   - variables: the variables of `$expr`.
    ///   - now: the time of `$$NOW`, in milliseconds since 1970.
    public func evaluate(_ document: Document, variables: [ExactText: Value] = [:], now: Int64) throws(QueryError)
        -> Bool
    {
        var position: Int?
        let variables = constants.isEmpty ? variables : constants.merging(variables) { $1 }
        return try FilterMatcher(collation: collation, variables: variables, now: now).matches(
            node, document, &position)
    }

    /// The index of the element that made an array match, which the positional operator `$` refers to. `nil` if the document
    /// doesn't match, or matches without searching an array.
    func positionalIndex(in document: Document, now: Int64) throws(QueryError) -> Int? {
        var position: Int?
        return try FilterMatcher(collation: collation, variables: constants, now: now)
            .matches(node, document, &position) ? position : nil
    }

    /// Whether a value satisfies conditions such as `{$gt: 5}`, as `$pull` tests the elements of an array. It is tested like a
    /// field's value, so an array also matches by its elements.
    static func matches(_ conditions: [FieldCondition], element: Value, now: Int64) throws(QueryError) -> Bool {
        let matcher = FilterMatcher(collation: nil, now: now)
        let document = Document(fields: [Document.Field("", element)])
        var ignored: Int?
        for condition in conditions
        where try !matcher.matches(.field(Path(""), condition), document, &ignored) { return false }
        return true
    }

    /// The fields that a document must have to match: the conditions `$eq` (also in `$and`) by path, which an upsert copies into
    /// its document.
    public var equalities: [(path: Path, value: Value)] {
        var found: [(path: Path, value: Value)] = []
        Self.collect(node, into: &found)
        return found
    }

    private static func collect(_ node: FilterNode, into found: inout [(path: Path, value: Value)]) {
        switch node {
        case .and(let nodes): for node in nodes { collect(node, into: &found) }
        case .or(let nodes) where nodes.count == 1: collect(nodes[0], into: &found)
        case .field(let path, .equal(let value)): found.append((path, value))
        case .field(let path, .in(let values, let expressions)) where values.count == 1 && expressions.isEmpty:
            found.append((path, values[0]))
        case .field(let path, .allOf(let conditions)):
            for case .equal(let value) in conditions { found.append((path, value)) }
        default: break
        }
    }
}

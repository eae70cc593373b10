public import DocumentModel
public import QueryLanguage

/// The stages that a pipeline begins with and a `find` can do as well: `$match`, then `$sort`, then `$skip` and `$limit`.
public struct LeadingStages: Sendable {
    /// The conjunction of the `$match` stages.
    public private(set) var filter: Document = [:]
    private var sort: Document?
    private var skip = 0
    private var limit: Int?
    /// The number of these stages.
    public private(set) var count = 0

    /// Takes the leading stages of a pipeline, which may be none.
    public init(of pipeline: Pipeline) {
        for stage in pipeline.stages {
            guard take(stage) else { return }
            count += 1
        }
    }

    private mutating func take(_ stage: Stage) -> Bool {
        switch stage {
        case .match(let match):
            guard match.nearness == nil, sort == nil, skip == 0, limit == nil else { return false }
            filter = filter.isEmpty ? match.document : ["$and": [.document(filter), .document(match.document)]]
        case .sort(let order):
            guard sort == nil, skip == 0, limit == nil, let document = order.document else { return false }
            sort = document
        case .skip(let count):
            guard limit == nil else { return false }
            skip = min(skip, .max / 2) + min(count, .max / 2)
        case .limit(let count): limit = min(limit ?? count, count)
        default: return false
        }
        return true
    }

    /// The options of the find.
    public func options(_ options: AggregateOptions) -> FindOptions {
        FindOptions(
            sort: sort, skip: skip, limit: limit, collation: options.collation, hint: options.hint,
            maxTimeMS: options.maxTimeMS, variables: options.variables)
    }
}

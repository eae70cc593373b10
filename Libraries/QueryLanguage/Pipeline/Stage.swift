import DocumentModel

/// One parsed stage of a pipeline, for code that translates it.
public indirect enum Stage: Sendable {
    case match(Filter)
    /// `$project`, `$addFields`, `$set`, `$unset`: see the projection's mode.
    case project(Projection)
    case group(GroupSpecification)
    case sort(Sort)
    case skip(Int)
    case limit(Int)
    /// `$count` with the name of its field.
    case count(String)
    case unwind(UnwindSpecification)
    case lookup(LookupSpecification)
    case graphLookup(GraphLookupSpecification)
    case facet([(name: String, pipeline: Pipeline)])
    case bucket(BucketSpecification)
    case bucketAuto(BucketAutoSpecification)
    /// `$replaceRoot`, `$replaceWith`.
    case replaceRoot(Expression)
    case sample(Int)
    /// Without a collection, the pipeline provides its own documents.
    case unionWith(collection: String?, pipeline: Pipeline)
    case redact(Expression)
    case window(WindowSpecification)
    case densify(DensifySpecification)
    case geoNear(GeoNearSpecification)
    /// `$documents`.
    case documents(Expression)
    /// `$search` or its old name `$searchBeta`, `$searchMeta`: only at the beginning, and only the store can run them.
    case search(name: String, Document)
    /// `$out`, `$merge`: only at the end; the caller that runs the pipeline writes the results.
    case output(name: String, Value)

    /// The name as it is written.
    public var name: String {
        switch self {
        case .match: "$match"
        case .project: "$project"
        case .group: "$group"
        case .sort: "$sort"
        case .skip: "$skip"
        case .limit: "$limit"
        case .count: "$count"
        case .unwind: "$unwind"
        case .lookup: "$lookup"
        case .graphLookup: "$graphLookup"
        case .facet: "$facet"
        case .bucket: "$bucket"
        case .bucketAuto: "$bucketAuto"
        case .replaceRoot: "$replaceRoot"
        case .sample: "$sample"
        case .unionWith: "$unionWith"
        case .redact: "$redact"
        case .window: "$setWindowFields"
        case .densify: "$densify"
        case .geoNear: "$geoNear"
        case .documents: "$documents"
        case .search(let name, _), .output(let name, _): name
        }
    }
}

/// `$group`.
public struct GroupSpecification: Sendable {
    /// The expression by which documents are grouped.
    public let id: Expression
    /// The fields of a group.
    public let fields: [(name: String, accumulator: AccumulatorSpecification)]
}

/// An accumulator and its arguments.
public struct AccumulatorSpecification: Sendable {
    /// The operator's name, such as `$sum`.
    public let name: String
    /// The value of each document that is accumulated.
    public let argument: Expression
    /// The number of elements of `$firstN` and its siblings.
    public let count: Expression?
    /// The order of `$top` and its siblings.
    public let sort: Sort?
    /// The percentiles of `$percentile` and `$median`.
    public let percentiles: Percentiles?

    init(
        name: String, argument: Expression, count: Expression? = nil, sort: Sort? = nil, percentiles: Percentiles? = nil
    ) {
        self.name = name
        self.argument = argument
        self.count = count
        self.sort = sort
        self.percentiles = percentiles
    }
}

/// `$unwind`.
public struct UnwindSpecification: Sendable {
    /// The array's path.
    public let path: Path
    /// The field that gets the index.
    public let indexField: Path?
    /// Whether a document without elements stays.
    public let keepsEmpty: Bool
}

/// `$lookup`.
public struct LookupSpecification: Sendable {
    /// The other collection; `nil` if the pipeline provides its own documents.
    public let collection: String?
    /// The paths that are compared; `nil` if only the pipeline selects documents.
    public let fields: (local: Path, foreign: Path)?
    /// Variables of the pipeline.
    public let variables: [(name: String, value: Expression)]
    /// The pipeline that runs over the other collection's documents.
    public let pipeline: Pipeline?
    /// The field that gets the result.
    public let output: Path
}

/// `$graphLookup`.
public struct GraphLookupSpecification: Sendable {
    /// The other collection.
    public let collection: String
    /// The value or values that the search starts with.
    public let start: Expression
    /// The path in a found document of the values to search for next.
    public let connectFrom: Path
    /// The path in which the values are searched for.
    public let connectTo: Path
    /// The field that gets the result.
    public let output: Path
    /// The maximum number of steps; `nil` for no limit.
    public let maximumDepth: Int?
    /// The field of a found document that gets the number of steps.
    public let depthField: Path?
    /// A filter that found documents must match.
    public let restriction: Filter?
}

/// `$bucket`.
public struct BucketSpecification: Sendable {
    /// The expression by which documents are grouped.
    public let groupBy: Expression
    /// The bounds, ascending: each is the inclusive start of a bucket, and the last one is the exclusive end of the last bucket.
    public let boundaries: [Value]
    /// The `_id` of the bucket for all other values; `nil` if they are an error.
    public let otherwise: Value?
    /// The fields of a bucket.
    public let fields: [(name: String, accumulator: AccumulatorSpecification)]
}

/// `$bucketAuto`.
public struct BucketAutoSpecification: Sendable {
    /// The expression by which documents are grouped.
    public let groupBy: Expression
    /// The number of buckets.
    public let buckets: Int
    /// The fields of a bucket.
    public let fields: [(name: String, accumulator: AccumulatorSpecification)]
    /// The series of preferred numbers that bounds are rounded to.
    public let granularity: Granularity?
}

/// `$geoNear`.
public struct GeoNearSpecification: Sendable {
    /// The condition on the field.
    public let filter: Filter
    /// The field that gets the distance.
    public let distanceField: Path
    /// The field that gets the location.
    public let locationField: Path?
    /// The factor by which distances are multiplied.
    public let multiplier: Double
}

/// `$setWindowFields`.
public struct WindowSpecification: Sendable {
    /// The expression by which documents are partitioned.
    public let partition: Expression?
    /// The order within a partition.
    public let sort: Sort?
    /// The values that are computed for each document.
    public let outputs: [Output]

    /// One output field and its function.
    public struct Output: Sendable {
        /// The path of the field.
        public let path: Path
        /// The function that computes the value.
        public let function: Function
        /// The documents that the function is applied to.
        public let window: Window
    }

    /// A function that computes a value for each document.
    public enum Function: Sendable {
        case accumulator(AccumulatorSpecification)
        case rank
        case denseRank
        case documentNumber
        /// `$shift`.
        case shift(Expression, by: Int, otherwise: Value)
        /// `$locf`: the last value that is not null.
        case lastObserved(Expression)
        /// `$linearFill`: nulls between two numbers are interpolated linearly.
        case linearFill(Expression)
        /// `$derivative` and `$integral` with respect to the sort value; `unit` in milliseconds if that is a date.
        case derivative(Expression, unit: Int64?)
        case integral(Expression, unit: Int64?)
        /// `$expMovingAvg` with the weight of the newest value.
        case movingAverage(Expression, weight: MovingWeight)
        /// `$covariancePop`, `$covarianceSamp`.
        case covariance(Expression, Expression, isSample: Bool)
    }

    /// The weight of the newest value of `$expMovingAvg`.
    public enum MovingWeight: Sendable {
        /// `N`: the weight is 2 / (`N` + 1).
        case count(Int64)
        /// `alpha`: the weight itself.
        case fraction(Value)
    }

    /// Which documents around the current one belong to the window.
    public enum Window: Sendable {
        /// By position; `nil` for no bound.
        case documents(lower: Int?, upper: Int?)
        /// By the sort value; with a unit if that is a date.
        case range(lower: Value?, upper: Value?, isCurrentLower: Bool, isCurrentUpper: Bool, unit: String?)
    }
}

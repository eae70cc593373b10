import DocumentModel

/// One parsed stage of a pipeline, for those who translate it.
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
    /// Without a collection the pipeline brings its own documents.
    case unionWith(collection: String?, pipeline: Pipeline)
    case redact(Expression)
    case window(WindowSpecification)
    case densify(DensifySpecification)
    case geoNear(GeoNearSpecification)
    /// `$documents`.
    case documents(Expression)
    /// `$search`, `$searchMeta`: only at the beginning, and only the store can run them.
    case search(name: String, Document)
    /// `$out`, `$merge`: only at the end; whoever runs the pipeline writes.
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
    /// What documents are grouped by.
    public let id: Expression
    /// The fields of a group.
    public let fields: [(name: String, accumulator: AccumulatorSpecification)]
}

/// An accumulator and what it is fed with.
public struct AccumulatorSpecification: Sendable {
    /// Such as `$sum`.
    public let name: String
    /// What it adds up of each document.
    public let argument: Expression
    /// The number of elements of `$firstN` and its siblings.
    public let count: Expression?
    /// The order of `$top` and its siblings.
    public let sort: Sort?
    /// The percentiles that `$percentile` and `$median` ask for.
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
    /// The field that takes the index.
    public let indexField: Path?
    /// Whether a document without elements stays.
    public let keepsEmpty: Bool
}

/// `$lookup`.
public struct LookupSpecification: Sendable {
    /// The other collection; `nil` where the pipeline brings its own documents.
    public let collection: String?
    /// The paths that are compared, unless only the pipeline decides.
    public let fields: (local: Path, foreign: Path)?
    /// Variables of the pipeline.
    public let variables: [(name: String, value: Expression)]
    /// What runs over the other collection's documents.
    public let pipeline: Pipeline?
    /// The field that takes the result.
    public let output: Path
}

/// `$graphLookup`.
public struct GraphLookupSpecification: Sendable {
    /// The other collection.
    public let collection: String
    /// What the search starts with.
    public let start: Expression
    /// Where a found document says what to look for next.
    public let connectFrom: Path
    /// Where documents are looked for.
    public let connectTo: Path
    /// The field that takes the result.
    public let output: Path
    /// How many steps at most.
    public let maximumDepth: Int?
    /// The field of a found document that takes the number of steps.
    public let depthField: Path?
    /// What found documents must match.
    public let restriction: Filter?
}

/// `$bucket`.
public struct BucketSpecification: Sendable {
    /// What documents are grouped by.
    public let groupBy: Expression
    /// The bounds, ascending, each the beginning of a bucket and the last the end of the last one.
    public let boundaries: [Value]
    /// The bucket of all others.
    public let otherwise: Value?
    /// The fields of a bucket.
    public let fields: [(name: String, accumulator: AccumulatorSpecification)]
}

/// `$bucketAuto`.
public struct BucketAutoSpecification: Sendable {
    /// What documents are grouped by.
    public let groupBy: Expression
    /// How many buckets.
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
    /// The field that takes the distance.
    public let distanceField: Path
    /// The field that takes the place.
    public let locationField: Path?
    /// What distances are multiplied with.
    public let multiplier: Double
}

/// `$setWindowFields`.
public struct WindowSpecification: Sendable {
    /// What documents are parted by.
    public let partition: Expression?
    /// The order within a partition.
    public let sort: Sort?
    /// What is computed.
    public let outputs: [Output]

    /// One field and its function.
    public struct Output: Sendable {
        /// The field.
        public let path: Path
        /// The function.
        public let function: Function
        /// The documents that it sees.
        public let window: Window
    }

    /// What is computed.
    public enum Function: Sendable {
        case accumulator(AccumulatorSpecification)
        case rank
        case denseRank
        case documentNumber
        /// `$shift`.
        case shift(Expression, by: Int, otherwise: Value)
        /// `$locf`: the last value that is not null.
        case lastObserved(Expression)
        /// `$linearFill`: nulls between two numbers become what lies on the line between them.
        case linearFill(Expression)
        /// `$derivative` and `$integral` by the value that is sorted by; milliseconds of the unit if that is a date.
        case derivative(Expression, unit: Int64?)
        case integral(Expression, unit: Int64?)
        /// `$expMovingAvg` with the weight of the newest value.
        case movingAverage(Expression, weight: MovingWeight)
        /// `$covariancePop`, `$covarianceSamp`.
        case covariance(Expression, Expression, isSample: Bool)
    }

    /// The weight of the newest value of `$expMovingAvg`.
    public enum MovingWeight: Sendable {
        /// `N`: two of `N + 1`.
        case count(Int64)
        /// `alpha`.
        case fraction(Value)
    }

    /// Which documents around the present one.
    public enum Window: Sendable {
        /// By position; `nil` is without bound.
        case documents(lower: Int?, upper: Int?)
        /// By the value that is sorted by; a unit if that is a date.
        case range(lower: Value?, upper: Value?, isCurrentLower: Bool, isCurrentUpper: Bool, unit: String?)
    }
}

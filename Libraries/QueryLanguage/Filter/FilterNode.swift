import DocumentModel
public import DocumentSchema
import RegularExpressions

/// The parsed tree of a filter, for code that translates it.
public indirect enum FilterNode: Sendable {
    /// Matches if all of them do; an empty list matches everything.
    case and([FilterNode])
    /// Matches if one of them does.
    case or([FilterNode])
    /// Matches if none of them does.
    case nor([FilterNode])
    /// A condition on a path. Negative operators (`$ne`, `$nin`, `$not`) are conditions too: see `FieldCondition.not`.
    case field(Path, FieldCondition)
    /// `$expr`.
    case expression(Expression)
    /// `$jsonSchema`.
    case schema(DocumentSchema)
    /// `$alwaysFalse` (`true`: `$alwaysTrue`).
    case constant(Bool)
}

/// One condition on the values at a path.
///
/// As in MongoDB a path leads through arrays: the condition holds if it holds for one of the values that the path reaches; a final
/// array is tested by its elements and as a whole.
public indirect enum FieldCondition: Sendable {
    /// `$eq`; null also matches a missing value.
    case equal(Value)
    /// `$gt`, `$gte`, `$lt`, `$lte`: only values whose types have the same rank match.
    case compare(Comparison, Value)
    /// `$in`: the list's values, sorted, and separately its regular expressions.
    case `in`([Value], [RegexCondition])
    /// A regular expression as the value, or `$regex`.
    case regex(RegexCondition)
    /// `$exists: true`.
    case exists
    /// `$type`.
    case type(TypeSet)
    /// `$size`.
    case size(Int)
    /// `$mod`.
    case modulo(divisor: Int64, remainder: Int64)
    /// `$bitsAllSet` and its siblings.
    case bits(BitTest)
    /// `$elemMatch` with a filter for elements that are documents.
    case elementMatches(FilterNode)
    /// `$elemMatch` with conditions for the element itself.
    case elementSatisfies([FieldCondition])
    /// `$all`, or several conditions under `$not`: each has to hold, possibly for different elements.
    case allOf([FieldCondition])
    /// `$geoWithin`, `$geoIntersects`, `$near`, `$nearSphere`.
    case geo(GeoCondition)
    /// `$not`, `$ne`, `$nin`, `$exists: false`.
    case not(FieldCondition)

    /// The order operators.
    public enum Comparison: String, Sendable {
        case greater = "$gt"
        case greaterOrEqual = "$gte"
        case less = "$lt"
        case lessOrEqual = "$lte"
    }
}

/// A regular expression and its compiled form.
public struct RegexCondition: Sendable {
    /// The expression as it was written.
    public let expression: RegularExpression
    let compiled: any CompiledRegex

    init(_ expression: RegularExpression) throws(QueryError) {
        self.expression = expression
        compiled = try RegexEngine.compile(expression)
    }
}

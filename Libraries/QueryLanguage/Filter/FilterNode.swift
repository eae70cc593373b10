import DocumentModel
public import DocumentSchema
import RegularExpressions

/// The parsed tree of a filter, for those who translate it.
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

/// One condition on what stands at a path.
///
/// As in MongoDB a path leads through arrays: the condition holds if it holds for one of the values that the path reaches, where a final
/// array stands for its elements and for itself.
public indirect enum FieldCondition: Sendable {
    /// `$eq`; null also matches what is missing.
    case equal(Value)
    /// `$gt`, `$gte`, `$lt`, `$lte`: only values of the same rank of type compare.
    case compare(Comparison, Value)
    /// `$in`: the values in their order, and apart from them the regular expressions of the list.
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
    /// `$all`, or several conditions under `$not`: each has to hold, be it for different elements.
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
    /// As it was written.
    public let expression: RegularExpression
    let compiled: any CompiledRegex

    init(_ expression: RegularExpression) throws(QueryError) {
        self.expression = expression
        compiled = try RegexEngine.compile(expression)
    }
}

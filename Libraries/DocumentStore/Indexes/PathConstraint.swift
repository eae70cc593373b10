import DocumentModel
import Postgres
import QueryLanguage

/// What a filter demands of the values at one path, as far as an index on the path can use it.
struct PathConstraint: Sendable {
    /// The single values that may be at the path.
    enum Points: Sendable {
        case keys([[UInt8]])
        /// Values in their plain form, whose keys Postgres computes.
        case values([[UInt8]])
    }

    /// One bound of a range of keys.
    struct Bound: Sendable {
        var key: [UInt8]
        var isInclusive: Bool
    }

    var points: Points?
    var lower: Bound?
    var upper: Bound?
    /// Whether the points come from one condition.
    private(set) var isSingle = true
    /// Whether a document without the path can't match.
    var demandsPresence = false
    /// Whether the points contain a number, which may have an inexact key.
    var wantsNumber = false

    /// The one key that all values with exact keys have if they meet the constraint; `nil` if there may be several.
    var regularPoint: [UInt8]? {
        guard case .keys(let keys)? = points else { return nil }
        let regular = keys.filter { ($0.first ?? 0xff) < IndexKey.irregular }
        return regular.count == 1 ? regular[0] : nil
    }

    /// The constraints of a filter's conjuncts, by path.
    static func all(of nodes: [FilterNode]) -> [ExactText: PathConstraint] {
        var constraints: [ExactText: PathConstraint] = [:]
        for node in nodes { collect(node, below: nil, isInElement: false, into: &constraints) }
        return constraints
    }

    private static func collect(
        _ node: FilterNode, below prefix: Path?, isInElement: Bool, into constraints: inout [ExactText: PathConstraint]
    ) {
        switch node {
        case .and(let nodes):
            for node in nodes { collect(node, below: prefix, isInElement: isInElement, into: &constraints) }
        case .or(let nodes) where nodes.count == 1:
            collect(nodes[0], below: prefix, isInElement: isInElement, into: &constraints)
        case .field(let inner, let condition):
            let path = prefix.map { Path(components: $0.components + inner.components) } ?? inner
            if path.components.contains(where: { $0.index != nil || $0.name.utf8.contains(0) }) { return }
            if case .elementMatches(let node) = condition {
                collect(node, below: path, isInElement: true, into: &constraints)
                return
            }
            constraints[path.description, default: PathConstraint()].take(condition)
        default: break
        }
    }

    private mutating func take(_ condition: FieldCondition) {
        switch condition {
        case .equal(let value): take(equals: [value])
        case .in(let values, let expressions) where expressions.isEmpty: take(equals: values)
        case .compare(let comparison, let value): take(comparison, value)
        case .regex(let regex): take(prefixOf: regex.expression)
        case .allOf(let conditions):
            // Each condition may be met by a different element, so an index can search for only one of them.
            if points == nil, case .equal(let value)? = conditions.first { take(equals: [value]) }
        case .elementSatisfies(let conditions): for condition in conditions { take(condition) }
        case .exists, .size, .modulo, .bits: demandsPresence = true
        default: break
        }
    }

    private mutating func take(equals values: [Value]) {
        guard points == nil else {
            isSingle = false
            return
        }
        var keys: [[UInt8]]? = []
        for value in values {
            // The type of a number inside a document doesn't affect equality, but it does affect the key.
            if case .document = value { return }
            guard let some = IndexKey.equals(value) else { keys = nil; continue }
            keys? += some
        }
        points = keys.map { .keys($0) } ?? .values(values.map { PlainForm.bytes(of: $0) })
        wantsNumber = values.contains(where: \.isNumber)
        if !values.contains(where: { $0 == .null || $0 == .undefined }) { demandsPresence = true }
    }

    private mutating func take(_ comparison: FieldCondition.Comparison, _ value: Value) {
        let isLower = comparison == .greater || comparison == .greaterOrEqual
        var isInclusive = comparison == .greaterOrEqual || comparison == .lessOrEqual
        var key: [UInt8]
        switch value {
        case .int64, .decimal128:
            guard let double = value.doubleValue, double.isFinite else { return }
            // The nearest double may be on the wrong side.
            key = IndexKey.number64(isLower ? double.nextDown : double.nextUp)
            isInclusive = true
        case .double(let number) where number.isNaN: return
        case .null, .undefined: return
        default:
            guard let bytes = IndexKey.bytes(of: value) else { return }
            key = bytes
        }
        demandsPresence = true
        guard let rank = key.first else { return }
        // Values of other types don't match a comparison, so the range ends with the type.
        if isLower {
            guard lower == nil || lower?.key.count == 1 else { return }
            lower = Bound(key: key, isInclusive: isInclusive)
            if upper == nil { upper = Bound(key: [rank + 1], isInclusive: false) }
        } else {
            guard upper == nil || upper?.key.count == 1 else { return }
            upper = Bound(key: key, isInclusive: isInclusive)
            if lower == nil { lower = Bound(key: [rank], isInclusive: true) }
        }
    }

    /// A regular expression that begins with `^` and literal characters matches only texts in a range.
    private mutating func take(prefixOf expression: RegularExpression) {
        demandsPresence = true
        guard expression.options.allSatisfy({ $0 == "s" }), expression.pattern.hasPrefix("^"), lower == nil,
            !expression.pattern.contains("|")
        else { return }
        // By scalars, as the expression is matched: a quantifier isn't one to a `Character` if a combining mark follows it.
        var prefix = String.UnicodeScalarView()
        for scalar in expression.pattern.unicodeScalars.dropFirst() {
            if "*?{".unicodeScalars.contains(scalar) {
                _ = prefix.popLast()
                break
            }
            let properties = scalar.properties
            guard
                properties.isAlphabetic || properties.numericType != nil
                    || " _-/@:,;!~#%&='\"<>".unicodeScalars.contains(scalar)
            else { break }
            prefix.append(scalar)
        }
        let bytes = Array(String(prefix).utf8)
        guard !bytes.isEmpty, bytes.count <= 200, let last = bytes.last else { return }
        lower = Bound(key: [0x30] + bytes, isInclusive: true)
        // No byte of UTF-8 is ff.
        upper = Bound(key: [0x30] + bytes.dropLast() + [last + 1], isInclusive: false)
    }
}

import DocumentModel
import Postgres
import QueryLanguage

/// What a filter demands of the values at one path, as far as an index on it can tell.
struct PathConstraint: Sendable {
    /// The keys of what may stand there.
    enum Points: Sendable {
        case keys([[UInt8]])
        /// Values in their plain form, whose keys Postgres makes.
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
    /// Whether its points come from one condition.
    private(set) var isSingle = true
    /// Whether a document without the path can't match.
    var demandsPresence = false
    /// Whether it wants a number, which may have an inexact key.
    var wantsNumber = false

    /// The one key that all regular values have that meet it.
    var regularPoint: [UInt8]? {
        guard case .keys(let keys)? = points else { return nil }
        let regular = keys.filter { ($0.first ?? 0xff) < IndexKey.irregular }
        return regular.count == 1 ? regular[0] : nil
    }

    /// What the conjuncts of a filter demand, by path.
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
            // Each may hold for another element: one of them is what an index can look for.
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
            // The type of a number inside of a document is no part of equality, but of the key.
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
        // Other types don't compare.
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

    /// A regular expression that begins with `^` and plain letters finds texts of a range.
    private mutating func take(prefixOf expression: RegularExpression) {
        demandsPresence = true
        guard expression.options.allSatisfy({ $0 == "s" }), expression.pattern.hasPrefix("^"), lower == nil,
            !expression.pattern.contains("|")
        else { return }
        var prefix: [Character] = []
        for character in expression.pattern.dropFirst() {
            if "*?{".contains(character) {
                _ = prefix.popLast()
                break
            }
            guard character.isLetter || character.isNumber || " _-/@:,;!~#%&='\"<>".contains(character) else { break }
            prefix.append(character)
        }
        let bytes = Array(String(prefix).utf8)
        guard !bytes.isEmpty, bytes.count <= 200, let last = bytes.last else { return }
        lower = Bound(key: [0x30] + bytes, isInclusive: true)
        // No byte of UTF-8 is ff.
        upper = Bound(key: [0x30] + bytes.dropLast() + [last + 1], isInclusive: false)
    }
}

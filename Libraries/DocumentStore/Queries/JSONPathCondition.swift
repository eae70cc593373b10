import DocumentModel
import QueryLanguage

/// Conditions as SQL/JSON path expressions over the plain form (``PlainForm``).
///
/// In lax mode a path leads through arrays as MongoDB's do, and a filter expression looks at an array's elements. Where the plain
/// form has several ways to write a number, all of them are let through.
enum JSONPathCondition {
    /// An expression that yields something for every document that the node matches; `nil` when there is none to be had.
    static func necessary(for node: FilterNode) -> String? {
        switch node {
        case .field(let path, let condition): necessary(for: path, condition)
        // Each of them is necessary: the first that can be expressed will do.
        case .and(let nodes): nodes.lazy.compactMap { necessary(for: $0) }.first
        default: nil
        }
    }

    private static func necessary(for path: Path, _ condition: FieldCondition) -> String? {
        switch condition {
        case .equal(let value): return test(value).flatMap { expression(path, [$0]) }
        case .in(let values, let expressions) where expressions.isEmpty && !values.isEmpty && values.count <= 100:
            let tests = values.map { test($0) }
            return tests.allSatisfy { $0 != nil } ? expression(path, tests.compactMap { $0 }) : nil
        case .compare(let comparison, let value): return test(comparison, value).flatMap { expression(path, [$0]) }
        case .exists: return steps(path).map { "$\($0)" }
        case .elementMatches(let node): return inside(path, node)
        case .allOf(let conditions): return conditions.lazy.compactMap { necessary(for: path, $0) }.first
        default: return nil
        }
    }

    /// What holds for one element holds somewhere below the array.
    private static func inside(_ path: Path, _ node: FilterNode) -> String? {
        switch node {
        case .field(let inner, let condition):
            necessary(for: Path(components: path.components + inner.components), condition)
        case .and(let nodes): nodes.lazy.compactMap { inside(path, $0) }.first
        default: nil
        }
    }

    private static func expression(_ path: Path, _ tests: [String]) -> String? {
        steps(path).map { "$\($0) ? (\(tests.joined(separator: " || ")))" }
    }

    /// `."a"."b"`; `nil` where a step may be an index, which lax mode reads differently.
    private static func steps(_ path: Path) -> String? {
        guard path.components.allSatisfy({ $0.index == nil && !$0.name.utf8.contains(0) }) else { return nil }
        return path.components.map { "." + quoted($0.name) }.joined()
    }

    /// A test of `@` that holds for every form in which an equal value may stand.
    private static func test(_ value: Value) -> String? {
        switch value {
        case .string(let text): text.utf8.contains(0) ? nil : "@ == \(quoted(text))"
        case .bool(let flag): "@ == \(flag)"
        case .objectId(let id): "@.\"$oid\" == \"\(id.hexString)\""
        case .int32, .int64, .double: number(value).map { "@ == \($0) || exists(@.\"$numberDecimal\")" }
        case .date(let milliseconds) where exactIntegers.contains(milliseconds): "@.\"$date\" == \(milliseconds)"
        default: nil
        }
    }

    private static func test(_ comparison: FieldCondition.Comparison, _ value: Value) -> String? {
        let sign =
            switch comparison {
            case .greater: ">"
            case .greaterOrEqual: ">="
            case .less: "<"
            case .lessOrEqual: "<="
            }
        let otherNumbers = ["$numberDecimal", "$numberLong", "$numberDouble"].map { " || exists(@.\"\($0)\")" }.joined()
        switch value {
        case .int32, .int64, .double: return number(value).map { "@ \(sign) \($0)\(otherNumbers)" }
        case .date(let milliseconds) where exactIntegers.contains(milliseconds):
            return "@.\"$date\" \(sign) \(milliseconds) || exists(@.\"$date\".\"$numberLong\")"
        default: return nil  // strings compare by bytes in MongoDB, and otherwise in a path expression
        }
    }

    /// The integers and dates that the plain form writes as JSON numbers.
    private static let exactIntegers: ClosedRange<Int64> = -(1 << 53)...(1 << 53)

    /// Numbers that the plain form writes as such.
    private static func number(_ value: Value) -> String? {
        switch value {
        case .int32(let number): return String(number)
        case .int64(let number): return exactIntegers.contains(number) ? String(number) : nil
        case .double(let number): return number.isFinite && abs(number) < 1e300 ? "\(number)" : nil
        default: return nil
        }
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        ExtendedJSON.append(string: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

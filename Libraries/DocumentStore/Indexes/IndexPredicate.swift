import DocumentModel
import DocumentSchema
import Foundation
import QueryLanguage

/// Which documents a partial or sparse index has, as SQL without parameters. A `jsonpath` in lax mode leads through arrays, as
/// MongoDB's paths do.
///
/// The text is part of the index and of each statement that uses it, so that Postgres sees that one implies the other.
struct IndexPredicate: Sendable {
    /// The condition on the column `document`; `nil` for all documents.
    let sql: String?

    init(_ index: IndexModel) throws(DocumentStoreError) {
        if index.isSparse {
            let paths = index.keys.map { "document @? \(Self.literal("$" + Self.steps(Path($0.path))))" }
            sql = paths.joined(separator: " or ")
        } else if let filter = index.partialFilter {
            let node: FilterNode
            do {
                node = try Filter(filter).node
            } catch {
                throw DocumentStoreError(query: error, .badIndex)
            }
            sql = try Self.condition(node)
        } else {
            sql = nil
        }
    }

    private static func condition(_ node: FilterNode) throws(DocumentStoreError) -> String {
        switch node {
        case .and(let nodes): return try joined(nodes, " and ")
        case .or(let nodes): return try joined(nodes, " or ")
        case .field(let path, let condition):
            guard !path.components.contains(where: { $0.index != nil || $0.name.utf8.contains(0) }) else { break }
            switch condition {
            case .equal(let value): return try comparison(path, "==", value)
            case .compare(let comparison, let value):
                return try Self.comparison(
                    path,
                    comparison.rawValue == "$gt"
                        ? ">" : comparison.rawValue == "$gte" ? ">=" : comparison.rawValue == "$lt" ? "<" : "<=", value)
            case .in(let values, let expressions) where expressions.isEmpty && !values.isEmpty:
                var parts: [String] = []
                for value in values { parts.append(try comparison(path, "==", value)) }
                return "(" + parts.joined(separator: " or ") + ")"
            case .exists: return "document @? \(literal("$" + steps(path)))"
            case .type(let types): return try type(path, types)
            default: break
            }
        default: break
        }
        throw DocumentStoreError(
            .badIndex,
            "partialFilterExpression has an expression that is not supported: "
                + "$eq, $in, $gt, $gte, $lt, $lte, $exists: true, $type, $and and $or are", mongoCode: 67)
    }

    private static func joined(_ nodes: [FilterNode], _ word: String) throws(DocumentStoreError) -> String {
        var parts: [String] = []
        for node in nodes { parts.append(try condition(node)) }
        return parts.isEmpty ? "true" : "(" + parts.joined(separator: word) + ")"
    }

    private static func comparison(_ path: Path, _ sign: String, _ value: Value) throws(DocumentStoreError) -> String {
        let place = "$" + steps(path)
        let plain = String(decoding: PlainForm.bytes(of: value), as: UTF8.self)
        switch value {
        case .string(let text) where !text.utf8.contains(0):
            return "document @? \(literal("\(place) ? (@ \(sign) \(plain))"))"
        case .int32, .int64, .double:
            guard let number = jsonNumber(value) else {
                throw IndexModel.unsupported("a partialFilterExpression with a number that isn't finite")
            }
            // A decimal or a large integer is {"$number…": "…"}.
            let wrapped = ["$numberDecimal", "$numberLong"].map { "@.\"\($0)\".double() \(sign) \(number)" }
            return "document @? \(literal("\(place) ? (@ \(sign) \(number) || \(wrapped.joined(separator: " || ")))"))"
        case .bool where sign == "==": return "document @? \(literal("\(place) ? (@ == \(plain))"))"
        case .null where sign == "==":
            return "(document @? \(literal("\(place) ? (@ == null)")) or not document @? \(literal(place)))"
        case .date(let milliseconds):
            return "document @? \(literal("\(place).\"$date\" ? (@ \(sign) \(milliseconds))"))"
        case .binary(let binary) where sign == "==":
            let base64 = Data(binary.bytes).base64EncodedString()
            let subtype = String(binary.subtype, radix: 16)
            let tests = "@.base64 == \"\(base64)\" && @.subType == \"\(subtype.count == 1 ? "0" : "")\(subtype)\""
            return "document @? \(literal("\(place).\"$binary\" ? (\(tests))"))"
        case .objectId(let id): return "document @? \(literal("\(place).\"$oid\" ? (@ \(sign) \"\(id)\")"))"
        default: throw IndexModel.unsupported("a partialFilterExpression with a value of this type")
        }
    }

    /// A number as JSON text; `nil` for other values. Not every number's plain form is a JSON number.
    private static func jsonNumber(_ value: Value) -> String? {
        switch value {
        case .int32(let number): "\(number)"
        case .int64(let number): "\(number)"
        case .double(let number): number.isFinite ? "\(number)" : nil
        default: nil
        }
    }

    private static func type(_ path: Path, _ types: TypeSet) throws(DocumentStoreError) -> String {
        let place = "$" + steps(path)
        let tests: [UInt8: String] = [
            0x02: "@.type() == \"string\"", 0x08: "@.type() == \"boolean\"", 0x0A: "@ == null",
            0x07: "exists(@.\"$oid\")", 0x09: "exists(@.\"$date\")", 0x05: "exists(@.\"$binary\")",
        ]
        let numbers: Set<UInt8> = [0x01, 0x10, 0x12, 0x13]
        var parts = types.codes.subtracting(numbers).sorted().map { tests[$0] }
        if !types.codes.isDisjoint(with: numbers) {
            guard types.codes.isSuperset(of: numbers) else {
                throw IndexModel.unsupported("a partialFilterExpression with $type of one of the number types")
            }
            parts.append(
                "@.type() == \"number\" || exists(@.\"$numberDecimal\") || exists(@.\"$numberLong\") || exists(@.\"$numberDouble\")"
            )
        }
        let known = parts.compactMap { $0 }
        guard known.count == parts.count else {
            throw IndexModel.unsupported("a partialFilterExpression with $type of such a type")
        }
        return "document @? \(literal("\(place) ? (\(known.joined(separator: " || ")))"))"
    }

    /// The path as jsonpath steps, such as `."a"."b"`.
    static func steps(_ path: Path) -> String {
        path.components.map { component in
            var bytes: [UInt8] = [UInt8(ascii: ".")]
            ExtendedJSON.append(string: component.name, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }.joined()
    }

    private static func literal(_ jsonPath: String) -> String { FilterTranslation.literal(jsonPath) + "::jsonpath" }
}

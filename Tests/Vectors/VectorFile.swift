import DocumentModel
import Foundation

/// A file of cases under `Cases/`; see `README.md`.
public struct VectorFile: Sendable {
    /// Its path below `Cases/`, without the ending.
    public let name: String
    /// The cases in their order.
    public let cases: [VectorCase]

    /// The names of all files.
    public static let names: [String] = {
        let paths = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let files = (paths?.allObjects ?? []).compactMap { ($0 as? URL)?.path }.filter { $0.hasSuffix(".json") }
        return files.map { String($0.dropFirst(root.path.count + 1).dropLast(5)) }.sorted()
    }()

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Cases")

    /// Reads a file.
    public init(_ name: String) throws {
        self.name = name
        let data = try Data(contentsOf: Self.root.appendingPathComponent(name + ".json"))
        let content = try ExtendedJSON.parse([UInt8](data))
        let given = content["given"], isExact = content["exact"] == true
        let list = content.arrayValue ?? content["cases"]?.arrayValue ?? []
        cases = list.enumerated().compactMap { number, value in
            guard let document = value.documentValue, let expected = document["expected"],
                let operation = document["operation"]?.documentValue
            else { return nil }
            return VectorCase(
                name: "\(name) \(number): \(document["name"]?.stringValue ?? "")",
                given: document["given"] ?? given ?? .null, operation: operation, expected: expected, isExact: isExact)
        }
        guard cases.count == list.count else { throw VectorError(message: "\(name): a case is incomplete") }
    }
}

/// One case: the given documents, the operation and the expected result.
public struct VectorCase: Sendable {
    /// File, number and name.
    public let name: String
    /// The documents, or the document.
    public let given: Value
    /// What is done.
    public let operation: Document
    /// The result, or `{error: code}`.
    public let expected: Value
    /// Whether plain numbers stand for exactly their type.
    public let isExact: Bool

    /// A case that isn't in a file.
    public init(name: String, given: Value, operation: Document, expected: Value, isExact: Bool) {
        self.name = name
        self.given = given
        self.operation = operation
        self.expected = expected
        self.isExact = isExact
    }

    /// The documents that are given.
    public var documents: [Document] { given.arrayValue?.compactMap(\.documentValue) ?? [] }
    /// The one document that is given.
    public var document: Document { given.documentValue ?? Document() }
    /// The operation's name: its first field.
    public var kind: String { operation.fields.first?.key ?? "" }
    /// The time of `$$NOW` and `$currentDate`.
    public var now: Int64 { operation["now"]?.dateValue ?? 1_600_000_000_000 }
    /// The filters of `$[name]`.
    public var arrayFilters: [Document] { operation["arrayFilters"]?.arrayValue?.compactMap(\.documentValue) ?? [] }

    /// Whether a result is the expected one.
    public func accepts(_ result: Value) -> Bool {
        isExact ? result.isAlike(expected) : result.isSame(as: expected)
    }
}

/// A file of cases that can't be used.
public struct VectorError: Error, CustomStringConvertible {
    let message: String
    /// What is wrong.
    public var description: String { message }

    /// An error with this message.
    public init(message: String) { self.message = message }
}

extension Value {
    /// Identical, except for the last bits of doubles, in which math libraries differ, and for the bits of NaN.
    fileprivate func isAlike(_ other: Value) -> Bool {
        switch (self, other) {
        case (.double(let a), .double(let b)):
            a.isNaN && b.isNaN || a == b && a.sign == b.sign || abs(a - b) <= 4e-15 * max(abs(a), abs(b))
        case (.decimal128(let a), .decimal128(let b)): a.isAlike(b)
        case (.document(let a), .document(let b)):
            a.count == b.count && zip(a.fields, b.fields).allSatisfy { $0.key == $1.key && $0.value.isAlike($1.value) }
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isAlike($1) }
        default: isIdentical(to: other)
        }
    }

    /// Identical, except that a number may have any type.
    fileprivate func isSame(as expected: Value) -> Bool {
        switch (self, expected) {
        case (.document(let a), .document(let b)):
            a.count == b.count
                && zip(a.fields, b.fields).allSatisfy { $0.key == $1.key && $0.value.isSame(as: $1.value) }
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.double, .double), (.decimal128, .decimal128): isAlike(expected)
        default: self == expected && (isNumber || isIdentical(to: expected))
        }
    }
}

extension Decimal128 {
    fileprivate func isAlike(_ other: Decimal128) -> Bool {
        if description == other.description { return true }
        // The digits of functions such as $ln beyond a double's precision aren't guaranteed.
        let (a, b) = (doubleValue, other.doubleValue)
        return a.isNaN && b.isNaN || a == b || abs(a - b) <= 4e-15 * max(abs(a), abs(b))
    }
}

import DocumentModel
import QueryLanguage

/// A `$group` that Postgres can evaluate with exactly the query engine's result: by paths, and by parts of dates, with sums, averages,
/// counts, extremes, first and last documents, and lists.
///
/// In the form `document`, doubles differ from integers by the digits after the decimal point, which `jsonb` keeps. Whether an
/// integer has 32 or 64 bits can be seen only in the body, in which the field is first searched for as text. Sums are exact, as the
/// query engine's are (`NumericSum`), and so don't depend on the order: several processes of Postgres can compute them.
struct GroupTranslation: Sendable {
    enum Output: Sendable {
        /// A number for each document.
        case constant(Int64)
        case sum(place: Int)
        case average(place: Int)
        case extreme(place: Int, isGreatest: Bool)
        /// The expression's value for the first document in natural order.
        case first(Expression)
        case last(Expression)
        /// The values at a path in natural order.
        case list(place: Int)
    }

    /// What documents are grouped by: the value at a path, or an expression that is constant for a span of the date there.
    struct Key: Sendable {
        /// The field's name if `_id` is a document.
        let name: String?
        let path: [String]
        let bin: DateBin?
    }

    let keys: [Key]
    let outputs: [(name: String, output: Output)]
    /// The paths whose numbers are added up, and whether for a sum or for an average.
    private(set) var numbers: [(path: [String], isSummed: Bool, isAveraged: Bool)] = []
    /// The paths whose smallest and largest values are wanted.
    private(set) var extremes: [[String]] = []
    /// The paths whose values are wanted as a list.
    private(set) var lists: [[String]] = []

    /// Returns `nil` for a `$group` that Postgres can't evaluate.
    init?(_ group: Document) {
        var outputs: [(String, Output)] = []
        var numbers: [(path: [String], isSummed: Bool, isAveraged: Bool)] = []
        var extremes: [[String]] = [], lists: [[String]] = []
        func number(_ path: [String]) -> Int {
            Self.place(of: path, in: numbers.map(\.path)) {
                numbers.append((path, false, false))
            }
        }
        for field in group.fields where field.key != "_id" {
            guard let accumulator = field.value.documentValue, accumulator.count == 1,
                let (name, argument) = accumulator.fields.first.map({ ($0.key, $0.value) })
            else { return nil }
            let path = argument.stringValue.flatMap(Self.path), output: Output
            switch (name, argument, path) {
            case ("$count", _, _): output = .constant(1)
            case ("$sum", .int32(let number), _): output = .constant(Int64(number))
            case ("$sum", _, let path?):
                let place = number(path)
                numbers[place].isSummed = true
                output = .sum(place: place)
            case ("$avg", _, let path?):
                let place = number(path)
                numbers[place].isAveraged = true
                output = .average(place: place)
            case ("$min", _, let path?), ("$max", _, let path?):
                let place = Self.place(of: path, in: extremes) { extremes.append(path) }
                output = .extreme(place: place, isGreatest: name == "$max")
            case ("$push", _, let path?):
                output = .list(place: Self.place(of: path, in: lists) { lists.append(path) })
            case ("$first", _, _):
                guard let expression = Self.plain(argument) else { return nil }
                output = .first(expression)
            case ("$last", _, _):
                guard let expression = Self.plain(argument) else { return nil }
                output = .last(expression)
            default: return nil
            }
            outputs.append((field.key, output))
        }
        guard let id = group["_id"], let keys = Self.keys(id) else { return nil }
        self.keys = keys
        self.outputs = outputs
        self.numbers = numbers
        self.extremes = extremes
        self.lists = lists
    }

    /// Whether first or last documents are wanted.
    var hasEnds: Bool {
        outputs.contains { if case .first = $0.output { true } else if case .last = $0.output { true } else { false } }
    }

    /// Whether the result depends on the order of the documents.
    var isOrdered: Bool { hasEnds || !lists.isEmpty }

    private static func place(of path: [String], in paths: [[String]], add: () -> Void) -> Int {
        if let known = paths.firstIndex(where: { $0.elementsEqual(path) { $0.hasSameBytes(as: $1) } }) { return known }
        add()
        return paths.count
    }

    /// An expression that reads nothing but the document: paths and `$$ROOT`, also in a document.
    private static func plain(_ value: Value) -> Expression? {
        func isPlain(_ node: ExpressionNode) -> Bool {
            switch node {
            case .literal: true
            case .path(let variable, _): variable == "CURRENT" || variable == "ROOT"
            case .document(let fields): fields.allSatisfy { isPlain($0.value) }
            default: false
            }
        }
        guard let expression = try? Expression(value), isPlain(expression.node) else { return nil }
        return expression
    }

    private static func keys(_ id: Value) -> [Key]? {
        if id == .null { return [] }
        if let key = key(nil, id) { return [key] }
        guard case .document(let parts) = id, !parts.isEmpty,
            parts.fields[0].key.utf8.first != UInt8(ascii: "$")
        else { return nil }
        let keys = parts.fields.compactMap { key($0.key, $0.value) }
        return keys.count == parts.count ? keys : nil
    }

    private static func key(_ name: String?, _ value: Value) -> Key? {
        if case .string(let text) = value { return path(text).map { Key(name: name, path: $0, bin: nil) } }
        return DateBin(value).map { Key(name: name, path: $0.path, bin: $0) }
    }

    /// The components of `$a.b`; `nil` for a text that isn't a path in the document.
    private static func path(_ text: String) -> [String]? {
        guard text.hasPrefix("$"), !text.hasPrefix("$$"), !text.utf8.contains(0) else { return nil }
        let parts = text.dropFirst().splitAtBytes(".")
        return parts.contains("") ? nil : parts
    }
}

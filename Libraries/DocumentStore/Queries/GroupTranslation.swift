import DocumentModel
import QueryLanguage

/// A `$group` that Postgres can evaluate with exactly the query engine's result: by paths, with sums, averages and counts.
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
    }

    /// The paths that documents are grouped by, with the field's name if `_id` is a document.
    let keys: [(name: String?, path: [String])]
    let outputs: [(name: String, output: Output)]
    /// The paths whose numbers are added up, and whether for a sum or for an average.
    private(set) var numbers: [(path: [String], isSummed: Bool, isAveraged: Bool)] = []

    /// Returns `nil` for a `$group` that Postgres can't evaluate.
    init?(_ group: Document) {
        var outputs: [(String, Output)] = []
        var numbers: [(path: [String], isSummed: Bool, isAveraged: Bool)] = []
        func index(of path: [String]) -> Int {
            if let known = numbers.firstIndex(where: { $0.path.elementsEqual(path) { $0.hasSameBytes(as: $1) } }) {
                return known
            }
            numbers.append((path, false, false))
            return numbers.count - 1
        }
        for field in group.fields where field.key != "_id" {
            guard let accumulator = field.value.documentValue, accumulator.count == 1,
                let (name, argument) = accumulator.fields.first.map({ ($0.key, $0.value) })
            else { return nil }
            switch (name, argument) {
            case ("$count", _): outputs.append((field.key, .constant(1)))
            case ("$sum", .int32(let number)): outputs.append((field.key, .constant(Int64(number))))
            case ("$sum", .string(let text)):
                guard let path = Self.path(text) else { return nil }
                let place = index(of: path)
                numbers[place].isSummed = true
                outputs.append((field.key, .sum(place: place)))
            case ("$avg", .string(let text)):
                guard let path = Self.path(text) else { return nil }
                let place = index(of: path)
                numbers[place].isAveraged = true
                outputs.append((field.key, .average(place: place)))
            default: return nil
            }
        }
        guard let id = group["_id"], let keys = Self.keys(id) else { return nil }
        self.keys = keys
        self.outputs = outputs
        self.numbers = numbers
    }

    private static func keys(_ id: Value) -> [(name: String?, path: [String])]? {
        switch id {
        case .null: return []
        case .string(let text): return path(text).map { [(nil, $0)] }
        case .document(let parts) where !parts.isEmpty && parts.fields[0].key.utf8.first != UInt8(ascii: "$"):
            var keys: [(name: String?, path: [String])] = []
            for field in parts.fields {
                guard case .string(let text) = field.value, let path = path(text) else { return nil }
                keys.append((field.key, path))
            }
            return keys
        default: return nil
        }
    }

    /// The components of `$a.b`; `nil` for a text that isn't a path in the document.
    private static func path(_ text: String) -> [String]? {
        guard text.hasPrefix("$"), !text.hasPrefix("$$"), !text.utf8.contains(0) else { return nil }
        let parts = text.dropFirst().splitAtBytes(".")
        return parts.contains("") ? nil : parts
    }
}

public import DocumentModel

/// The fields that a query names, about whose values its results reveal something.
public enum NamedPaths: Sendable {
    /// Only these paths.
    case some([[String]])
    /// The query may depend on any path.
    case any

    /// No path.
    public static let none = NamedPaths.some([])

    /// The paths that a filter names.
    public init(filter: Document) {
        var paths: [[String]] = []
        self = Self.collect(filter, into: &paths) ? .some(paths) : .any
    }

    /// The paths that a `$search` names: the fields that it searches, sorts and scores by, and highlights.
    public init(search: Document) {
        var paths: [[String]] = []
        self = Self.collect(search: .document(search), into: &paths) && !paths.isEmpty ? .some(paths) : .any
    }

    /// These paths and additional ones, such as the keys of a sort.
    public func adding(_ names: [String]) -> NamedPaths {
        guard case .some(let paths) = self else { return .any }
        return .some(paths + names.map(Self.path))
    }

    private static func path(_ name: String) -> [String] { name.splitAtBytes(".") }

    /// - Returns: whether all named paths are known.
    private static func collect(search value: Value, into paths: inout [[String]]) -> Bool {
        switch value {
        case .array(let elements): return elements.allSatisfy { collect(search: $0, into: &paths) }
        case .document(let document):
            for field in document.fields {
                switch field.key {
                case "path":
                    for place in field.value.arrayValue ?? [field.value] {
                        guard let name = place.stringValue ?? place["value"]?.stringValue else { return false }
                        paths.append(path(name))
                    }
                case "sort":
                    for key in field.value.documentValue?.keys ?? [] { paths.append(path(key)) }
                case "queryString", "moreLikeThis",
                    "wildcard" where field.value["path"] == nil:
                    return false
                default: guard collect(search: field.value, into: &paths) else { return false }
                }
            }
            return true
        default: return true
        }
    }

    /// - Returns: whether all named paths are known.
    private static func collect(_ filter: Document, into paths: inout [[String]]) -> Bool {
        for field in filter.fields {
            switch field.key {
            case "$and", "$or", "$nor":
                for clause in field.value.arrayValue ?? [] {
                    guard let clause = clause.documentValue, collect(clause, into: &paths) else { return false }
                }
            case "$comment", "$alwaysTrue", "$alwaysFalse": break
            case let key where key.startsWithBytes(of: "$"): return false
            default: paths.append(path(field.key))
            }
        }
        return true
    }
}

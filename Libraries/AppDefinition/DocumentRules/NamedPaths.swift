public import DocumentModel

/// The fields that a query names: what its answer tells something about.
public enum NamedPaths: Sendable {
    /// Only these.
    case some([[String]])
    /// It can't be told: perhaps all.
    case any

    /// Names nothing.
    public static let none = NamedPaths.some([])

    /// What a filter names.
    public init(filter: Document) {
        var paths: [[String]] = []
        self = Self.collect(filter, into: &paths) ? .some(paths) : .any
    }

    /// What a `$search` names: the fields that it looks in, those that it sorts and scores by, and those that it shows passages of.
    public init(search: Document) {
        var paths: [[String]] = []
        self = Self.collect(search: .document(search), into: &paths) && !paths.isEmpty ? .some(paths) : .any
    }

    /// These and more, such as the keys of a sort.
    public func adding(_ names: [String]) -> NamedPaths {
        guard case .some(let paths) = self else { return .any }
        return .some(paths + names.map(Self.path))
    }

    private static func path(_ name: String) -> [String] { name.splitAtBytes(".") }

    /// - Returns: whether all that is named is known.
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

    /// - Returns: whether all that is named is known.
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

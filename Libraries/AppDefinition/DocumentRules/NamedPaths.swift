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

    /// The paths that a query names; `nil` if it may depend on any path.
    public init(_ names: [String]?) { self = names.map { .some($0.map(Self.path)) } ?? .any }

    /// These paths and additional ones, such as the keys of a sort.
    public func adding(_ names: [String]) -> NamedPaths {
        guard case .some(let paths) = self else { return .any }
        return .some(paths + names.map(Self.path))
    }

    private static func path(_ name: String) -> [String] { name.splitAtBytes(".") }

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

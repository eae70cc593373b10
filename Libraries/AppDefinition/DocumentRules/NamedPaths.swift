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

    /// - Returns: whether all that is named is known.
    private static func collect(_ filter: Document, into paths: inout [[String]]) -> Bool {
        for field in filter.fields {
            switch field.key {
            case "$and", "$or", "$nor":
                for clause in field.value.arrayValue ?? [] {
                    guard let clause = clause.documentValue, collect(clause, into: &paths) else { return false }
                }
            case "$comment", "$alwaysTrue", "$alwaysFalse": break
            case let key where key.hasPrefix("$"): return false
            default: paths.append(field.key.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
            }
        }
        return true
    }
}

public import DocumentModel

/// One of `indexes` in `partita.json`: an index that `partita app deploy` creates.
public struct IndexDefinition: Hashable, Sendable {
    @ExactText public var database: String
    @ExactText public var collection: String
    /// In the form that MongoDB's `createIndexes` takes, with the further kind `trigram`: `key`, and optionally `name`, `unique`, `sparse`,
    /// `partialFilterExpression`, `expireAfterSeconds`, `weights`, `default_language`.
    public var specification: Document

    /// Its name: the configured one, or MongoDB's default, such as `a_1_b_-1`.
    public var name: String {
        if let name = specification["name"]?.stringValue { return name }
        let keys = specification["key"]?.documentValue?.fields ?? []
        return keys.map { field in
            "\(field.key)_\(field.value.stringValue ?? field.value.int64Value.map(String.init) ?? "\(field.value)")"
        }.joined(separator: "_")
    }
}

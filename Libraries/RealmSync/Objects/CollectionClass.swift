public import DocumentModel

/// A collection of an app whose documents are a class's objects.
public struct CollectionClass: Sendable {
    /// The collection's name.
    @ExactText public var collection: String
    /// Its schema (`schema.json`).
    public var schema: Document
    /// Its relationships by field, with the collection that each leads to.
    public var relationships: [ExactText: ExactText]

    public init(collection: String, schema: Document, relationships: [ExactText: ExactText]) {
        self.schema = schema
        self.relationships = relationships
        self.collection = collection
    }

    /// The name of its class: the schema's title, or the collection's name.
    public var name: String {
        guard let title = schema["title"]?.stringValue, !title.isEmpty else { return collection }
        return title
    }
}

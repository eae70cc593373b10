public import DocumentModel

/// Why a part of a schema has no place in the Realm SDKs' model.
public struct UnfitSchema: Hashable, Sendable, CustomStringConvertible {
    @ExactText public private(set) var collection: String
    /// The property, with dots; empty for the collection itself.
    @ExactText public private(set) var path: String
    /// Its place in the schema, as a JSON pointer (RFC 6901).
    @ExactText public private(set) var pointer: String
    /// What is wrong, in one sentence.
    @ExactText public private(set) var message: String

    init(_ collection: String, _ place: SchemaPlace, _ message: String) {
        self.collection = collection
        path = place.path
        pointer = place.pointer
        self.message = message
    }

    public var description: String { "\(collection)\(path.isEmpty ? "" : ".")\(path): \(message)" }
}

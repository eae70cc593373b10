import DocumentModel

/// A place in a collection's schema.
struct SchemaPlace {
    /// The property, with dots, as an export's relationships name it; empty for the whole schema.
    private(set) var path = ""
    /// As a JSON pointer (RFC 6901).
    private(set) var pointer = ""

    static let whole = SchemaPlace()

    func property(_ field: String) -> SchemaPlace {
        SchemaPlace(
            path: path.isEmpty ? field : "\(path).\(field)",
            pointer: "\(pointer)/properties/\(JSONPointer.escape(field))")
    }

    /// The elements of an array.
    var elements: SchemaPlace { SchemaPlace(path: path, pointer: "\(pointer)/items") }

    /// The values of a dictionary.
    var values: SchemaPlace { SchemaPlace(path: path, pointer: "\(pointer)/additionalProperties") }
}

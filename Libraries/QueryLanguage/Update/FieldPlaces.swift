import DocumentModel

/// The places of documents' fields while many operators are applied one after the other, so that none has to search all fields.
///
/// For operators without placeholders, of which no two have the same path or paths above and below each other. So no other operator
/// uses a field that one unsets, and the field can stay in the document until the end.
struct FieldPlaces {
    /// The places by the document's path and the field's name.
    private var documents: [ExactText: [ExactText: Int]] = [:]
    private var unset: [ExactText: Set<ExactText>] = [:]

    mutating func index(of name: String, in document: Document, at path: String) -> Int? {
        guard document.count > 64 else { return document.index(of: name) }
        if documents[path] == nil {
            documents[path] = Dictionary(
                document.fields.enumerated().map { (ExactText($0.element.key), $0.offset) },
                uniquingKeysWith: { first, _ in first })
        }
        return documents[path]?[ExactText(name)]
    }

    /// Records that a field is about to be appended.
    mutating func add(_ name: String, to document: Document, at path: String) {
        documents[path]?[ExactText(name)] = document.count
    }

    /// Records a field for ``removeUnset(from:)``.
    mutating func unset(_ name: String, at path: String) { unset[path, default: []].insert(ExactText(name)) }

    func removeUnset(from document: inout Document) {
        for (path, names) in unset {
            var value = Value.document(document)
            document = Document()
            Self.remove(names, from: &value, at: path.text.isEmpty ? [] : Path(path.text).components[...])
            document = value.takeDocument() ?? Document()
        }
    }

    private static func remove(_ names: Set<ExactText>, from value: inout Value, at path: ArraySlice<Path.Component>) {
        if var document = value.takeDocument() {
            if let first = path.first {
                if let index = document.index(of: first.name) {
                    remove(names, from: &document.fields[index].value, at: path.dropFirst())
                }
            } else {
                document.fields.removeAll { names.contains(ExactText($0.key)) }
            }
            value = .document(document)
        } else if let index = path.first?.index, var elements = value.takeArray() {
            if elements.indices.contains(index) { remove(names, from: &elements[index], at: path.dropFirst()) }
            value = .array(elements)
        }
    }
}

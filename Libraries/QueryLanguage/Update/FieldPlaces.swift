import DocumentModel

/// Where the fields of documents stand while many operators are applied one after the other, so that none searches among all.
///
/// For operators without placeholders: no two of them meet at a path, or above and below each other. So a field that one unsets is met by
/// no other, and stays until the end.
struct FieldPlaces {
    /// By the path of the document.
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

    /// A field is about to be added behind the others.
    mutating func add(_ name: String, to document: Document, at path: String) {
        documents[path]?[ExactText(name)] = document.count
    }

    /// Leaves a field to ``removeUnset(from:)``.
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

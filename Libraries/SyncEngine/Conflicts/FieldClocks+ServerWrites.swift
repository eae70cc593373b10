import DocumentModel

extension FieldClocks {
    /// Notes a write from the server's side, which saw the document as it was and so loses to nobody.
    ///
    /// - Parameters:
    ///   - description: What the write changed.
    ///   - document: The document after it.
    public mutating func record(
        _ description: UpdateDescription, in document: Document, by stamp: WriteStamp, revision: Revision
    ) {
        let changed =
            description.updatedFields.fields.map(\.key) + description.removedFields
            + description.truncatedArrays.map(\.field)
        for path in Set(texts: changed.map { PathTarget($0, in: document).clockPath }).sortedTexts {
            write(path, by: stamp, revision: revision)
        }
    }
}

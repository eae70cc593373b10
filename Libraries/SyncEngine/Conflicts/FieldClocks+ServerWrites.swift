import DocumentModel

extension FieldClocks {
    /// Records a write from the server's side. It was made against the current document, so it doesn't lose to any
    /// earlier write.
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

public import DocumentModel

/// A collection's `.metadata.json`.
public struct DumpMetadata: Sendable {
    /// What the collection is called; `nil` in dumps before 4.4.
    public var collection: String?
    /// As `createIndexes` takes them, that of `_id` among them.
    public var indexes: [Document]
    /// A view has no documents of its own.
    public var isView: Bool
    /// Whether a time series was dumped, whose documents are buckets.
    public var isTimeSeries: Bool

    public init(indexes: [Document] = []) {
        self.indexes = indexes
        isView = false
        isTimeSeries = false
    }

    init(path: String) throws(DumpError) {
        let text = try ByteSource.contents(of: path)
        let document: Document
        do {
            document = try ExtendedJSON.parseDocument(text)
        } catch {
            throw DumpError(.badMetadata, "\(path): \(error)")
        }
        collection = document["collectionName"]?.stringValue
        let type = document["type"]?.stringValue
        isView = type == "view"
        isTimeSeries = type == "timeseries"
        indexes = []
        guard let list = document["indexes"] else { return }
        guard case .array(let elements) = list else { throw DumpError(.badMetadata, "\(path): indexes is no array") }
        for element in elements {
            guard case .document(let index) = element else {
                throw DumpError(.badMetadata, "\(path): an index is no document")
            }
            indexes.append(index)
        }
    }

    /// The indexes that have to be made: all but that of `_id`, which every collection has.
    var secondaryIndexes: [Document] {
        indexes.filter { index in
            guard case .document(let key)? = index["key"] else { return true }
            return key.keys != ["_id"]
        }
    }
}

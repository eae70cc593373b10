public import DocumentModel

/// A collection's `.metadata.json`.
public struct DumpMetadata: Sendable {
    /// The collection's name; `nil` in dumps before 4.4.
    public var collection: String?
    /// The indexes in the form that `createIndexes` takes, including that of `_id`.
    public var indexes: [Document]
    /// Whether it is a view, which has no documents of its own.
    public var isView: Bool
    /// Whether it is a time series, whose documents are buckets.
    public var isTimeSeries: Bool
    /// The collection's options that have no counterpart here.
    public var lostOptions: [String] = []

    /// Those that change what the collection holds or finds. Others say how the server stores it.
    private static let options = [
        "capped", "collation", "encryptedFields", "expireAfterSeconds", "validator",
    ]

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
        let set = document["options"]?.documentValue ?? Document()
        lostOptions = Self.options.filter { name in
            guard let value = set[name] else { return false }
            return value != .bool(false) && value != .null
        }
        indexes = []
        guard let list = document["indexes"] else { return }
        guard case .array(let elements) = list else { throw DumpError(.badMetadata, "\(path): indexes isn't an array") }
        for element in elements {
            guard case .document(let index) = element else {
                throw DumpError(.badMetadata, "\(path): an index isn't a document")
            }
            indexes.append(index)
        }
    }

    /// The indexes that have to be created: all but that of `_id`, which every collection has.
    var secondaryIndexes: [Document] {
        indexes.filter { index in
            guard case .document(let key)? = index["key"] else { return true }
            return key.keys != ["_id"]
        }
    }
}

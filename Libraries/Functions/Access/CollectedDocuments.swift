import DocumentModel
import FunctionProtocol

/// Collects documents up to a limit of bytes.
struct CollectedDocuments {
    private(set) var documents: [Document] = []
    private var bytes = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func add(_ part: [Document]) throws(EffectFailure) {
        for document in part { bytes += Value.document(document).approximateSize }
        guard bytes <= limit else {
            throw EffectFailure(
                name: "MongoDBError", message: "the documents have more than \(limit >> 20) MiB: limit them", code: 292)
        }
        documents += part
    }
}

import DocumentModel
import EventLoop
import FunctionProtocol

/// Collects documents up to a limit of bytes.
struct CollectedDocuments {
    private(set) var documents: [Document] = []
    private var bytes = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func add(_ part: [Document]) throws(EffectFailure) {
        let more = part.reduce(0) { $0 + Value.document($1).approximateSize }
        bytes += more
        guard bytes <= limit else {
            throw EffectFailure(
                name: "MongoDBError", message: "the documents have more than \(limit >> 20) MiB: limit them", code: 292)
        }
        if InflightShare.current?.take(more) != nil {
            throw EffectFailure(
                name: "MongoDBError",
                message: "no memory is left for the documents, since the app's functions read too many others just now",
                code: 292)
        }
        documents += part
    }
}

import DocumentModel
import QueryLanguage

/// The first documents of an order; keeps at most twice as many as are requested.
struct TopDocuments {
    /// How documents are ordered.
    enum Order {
        case sort(Sort)
        /// By the distance that the filter's `$near` measures.
        case distance(Filter)

        /// Returns `nil` if the documents needn't be sorted.
        init?(options: FindOptions, filter: Filter) throws {
            do {
                if let sort = options.sort, !sort.fields.isEmpty {
                    self = .sort(try Sort(sort, collation: filter.collation))
                } else if filter.nearness != nil {
                    self = .distance(filter)
                } else {
                    return nil
                }
            } catch {
                throw DocumentStoreError(query: error, .badFilter)
            }
        }

        func sort(_ documents: inout [Document]) {
            switch self {
            case .sort(let sort): sort.sort(&documents)
            case .distance(let filter):
                let measured = documents.map { (document: $0, distance: filter.distance(of: $0) ?? .infinity) }
                documents = measured.sorted { $0.distance < $1.distance }.map(\.document)
            }
        }
    }

    private let order: Order
    private let skip: Int
    private let wanted: Int
    private var documents: [Document] = []
    private var bytes = 0

    init(order: Order, skip: Int, limit: Int?) {
        self.order = order
        self.skip = skip
        wanted = limit.map { $0 > .max - skip ? .max : $0 + skip } ?? .max
    }

    /// - Parameter size: The document's size in bytes.
    mutating func add(_ document: Document, size: Int) throws(DocumentStoreError) {
        documents.append(document)
        bytes += size
        guard bytes > DocumentCollection.maximumCollectedBytes || documents.count / 2 > max(wanted, 512) else { return }
        let before = documents.count
        cut()
        bytes = bytes / before * documents.count
        if bytes > DocumentCollection.maximumCollectedBytes { throw .tooMuch }
    }

    private mutating func cut() {
        order.sort(&documents)
        if documents.count > wanted { documents.removeLast(documents.count - wanted) }
    }

    var result: ArraySlice<Document> {
        var copy = self
        copy.cut()
        return copy.documents.dropFirst(skip)
    }
}

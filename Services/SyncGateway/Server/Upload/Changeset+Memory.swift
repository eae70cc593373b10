import DocumentModel
import SyncEngine

extension Changeset {
    /// As how many values an operation counts besides those of its documents.
    private static let operationValues = 4

    /// The bytes that it takes in memory, about. Many small values take far more than the text that they came in.
    /// - Parameter text: the bytes of its text.
    func memory(ofText text: Int) -> Int {
        let values = operations.reduce(0) { count, operation in
            switch operation.kind {
            case .insert(let document): count + Self.operationValues + document.valueCount
            case .update(let operators, let filters):
                count + Self.operationValues + operators.valueCount + filters.reduce(0) { $0 + $1.valueCount }
            case .delete: count + Self.operationValues
            }
        }
        return max(text, values * Value.memoryBytes)
    }
}

extension Document {
    fileprivate var valueCount: Int { fields.reduce(1) { $0 + $1.value.valueCount } }
}

extension Value {
    fileprivate var valueCount: Int {
        switch self {
        case .document(let document): document.valueCount
        case .array(let items): items.reduce(1) { $0 + $1.valueCount }
        default: 1
        }
    }
}

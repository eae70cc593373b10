import DocumentModel
import SyncEngine

extension Changeset {
    /// The bytes that a value takes in memory besides its text, about.
    static let valueBytes = 48
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
        return max(text, values * Self.valueBytes)
    }
}

extension Document {
    /// The bytes that it takes in memory, about, with its texts and binaries.
    var memory: Int { fields.reduce(Changeset.valueBytes) { $0 + $1.key.utf8.count + $1.value.memory } }

    fileprivate var valueCount: Int { fields.reduce(1) { $0 + $1.value.valueCount } }
}

extension Value {
    fileprivate var memory: Int {
        switch self {
        case .document(let document): document.memory
        case .array(let items): items.reduce(Changeset.valueBytes) { $0 + $1.memory }
        case .string(let text): Changeset.valueBytes + text.utf8.count
        case .binary(let binary): Changeset.valueBytes + binary.bytes.count
        default: Changeset.valueBytes
        }
    }

    fileprivate var valueCount: Int {
        switch self {
        case .document(let document): document.valueCount
        case .array(let items): items.reduce(1) { $0 + $1.valueCount }
        default: 1
        }
    }
}

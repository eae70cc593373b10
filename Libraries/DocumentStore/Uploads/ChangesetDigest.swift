import DocumentModel
import SyncEngine

extension Changeset {
    /// Tells whether two sendings under one version are the same changeset: FNV-1a, 64 bits, over what its operations do.
    ///
    /// Incarnations and bases are left out: a device may learn them between two sendings.
    var digest: UInt64 {
        var bytes: [UInt8] = []
        for operation in operations {
            ExtendedJSON.append(string: operation.collection, to: &bytes)
            ExtendedJSON.append(operation.id, mode: .exact, to: &bytes)
            switch operation.kind {
            case .insert(let document):
                bytes.append(UInt8(ascii: "i"))
                ExtendedJSON.append(document, mode: .exact, to: &bytes)
            case .update(let operators, let arrayFilters):
                bytes.append(UInt8(ascii: "u"))
                ExtendedJSON.append(operators, mode: .exact, to: &bytes)
                ExtendedJSON.append(.array(arrayFilters.map(Value.document)), mode: .exact, to: &bytes)
            case .delete:
                bytes.append(UInt8(ascii: "d"))
            }
        }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }
}

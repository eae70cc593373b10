import DocumentModel

extension Changeset {
    /// A fingerprint of what the changeset says (FNV-1a over its canonical text), the same whenever and wherever it is sent.
    ///
    /// It tells a changeset that is sent again from another one under the same version; it is no protection against forgery.
    public var digest: UInt64 {
        var bytes: [UInt8] = []
        func append(_ text: String) {
            bytes.append(contentsOf: text.utf8)
            bytes.append(0)
        }
        append("\(version) \(clock.bits)")
        for operation in operations {
            append(operation.collection)
            append(operation.id.idText ?? "")
            append(operation.incarnation?.description ?? "")
            append(operation.base?.description ?? "")
            switch operation.kind {
            case .insert(let document):
                append("insert")
                ExtendedJSON.append(document, mode: .exact, to: &bytes)
            case .update(let operators, let arrayFilters):
                append("update")
                ExtendedJSON.append(operators, mode: .exact, to: &bytes)
                for filter in arrayFilters { ExtendedJSON.append(filter, mode: .exact, to: &bytes) }
            case .delete:
                append("delete")
            }
        }
        return bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

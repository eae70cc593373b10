import DocumentModel

extension Changeset {
    /// Tells whether two changesets of one device under one version are the same: a `Fingerprint` of the clock and of the
    /// operations with their incarnations and bases. A device sends a changeset again exactly as it was; stores that were cloned
    /// or restored make others, if only by their clocks.
    public var digest: UInt64 {
        var bytes: [UInt8] = []
        func append(_ revision: Revision?) {
            bytes.append(contentsOf: (revision?.description ?? "-").utf8)
            bytes.append(0)
        }
        bytes.append(contentsOf: "\(clock.bits)".utf8)
        bytes.append(0)
        for operation in operations {
            // Quoted, so that nothing in it is taken for what follows.
            ExtendedJSON.append(string: operation.collection, to: &bytes)
            ExtendedJSON.append(operation.id, mode: .exact, to: &bytes)
            append(operation.incarnation)
            append(operation.base)
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
        return Fingerprint(bytes).value
    }
}

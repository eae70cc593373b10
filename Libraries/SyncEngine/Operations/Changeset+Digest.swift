import DocumentModel

extension Changeset {
    /// Distinguishes two changesets of one device under one version: a `Fingerprint` of the clock, of the id if it has one, and of the operations with
    /// their incarnations and bases. A device resends a changeset unchanged; those of cloned or restored stores differ, at least in their
    /// clocks.
    public var digest: UInt64 {
        var bytes: [UInt8] = []
        func append(_ revision: Revision?) {
            bytes.append(contentsOf: (revision?.description ?? "-").utf8)
            bytes.append(0)
        }
        bytes.append(contentsOf: "\(clock.bits)".utf8)
        bytes.append(0)
        if let id { ExtendedJSON.append(string: id, to: &bytes) }
        for operation in operations {
            // Quoted, so that no part of it can be mistaken for what follows.
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

import DocumentModel
import SyncEngine

/// What devices write.
extension SimulatedWorld {
    static func note(_ number: Int) -> Operation {
        let id = Value.string("\(number)")
        return Operation(collection: "Note", id: id, kind: .insert(member(["_id": id, "a": .int64(0)])))
    }

    /// A document of the partition.
    static func member(_ document: Document) -> Document {
        Document(fields: document.fields + [SimulatedServer.membership])
    }

    /// The tokens that a changeset pushes onto the log.
    static func tokens(of changeset: Changeset) -> [String] {
        changeset.operations.compactMap { operation in
            guard operation.key == counter, case .update(let operators, _) = operation.kind else { return nil }
            return operators["$push"]?.documentValue?["log"]?.stringValue
        }
    }

    mutating func randomKey() -> DocumentKey {
        DocumentKey(collection: "Note", idText: "s:\(Int.random(in: 0..<notes, using: &generator))")
    }

    mutating func write(_ index: Int) {
        guard mayWrite(index) else { return }
        // Often one that is identical to others of its kind, also to those of a copy of the device.
        var operations = Int.random(in: 0..<3, using: &generator) == 0 ? [Self.tallied] : []
        if operations.isEmpty {
            for _ in 0...Int.random(in: 0...4, using: &generator) { operations.append(randomOperation()) }
        }
        write(operations, on: index)
    }

    func mayWrite(_ index: Int) -> Bool { !devices[index].isRevoked && !isReader(index) }

    /// A document leaves the partition, at times in the changeset that inserts it, if the user may write the other one.
    mutating func move(_ index: Int) {
        guard mayWrite(index) else { return }
        let target: Document = ["$set": .document([SimulatedServer.partitionKey: "elsewhere"])]
        let key = randomKey()
        let id = Value(idText: key.idText) ?? .null
        var kinds: [Operation.Kind] = [.update(operators: target, arrayFilters: [])]
        if Int.random(in: 0..<3, using: &generator) == 0 {
            kinds.insert(.insert(Self.member(["_id": id, "a": 1])), at: 0)
        }
        write(kinds.map { Operation(collection: key.collection, id: id, kind: $0) }, on: index)
    }

    mutating func write(_ operations: [Operation], on index: Int) {
        // No two changesets of copies of a device have the same time; those of different devices may.
        if !scenario.mishaps.isDisjoint(with: [.deviceCloned, .deviceRestored]) { time += 1 }
        written += 1
        devices[index].write(operations, milliseconds: wallClock(of: index), id: "w\(written)")
        if let changeset = devices[index].partition.pending.last?.changeset {
            writtenAt[ChangesetName(changeset, device: devices[index].id)] = (time, clockOffsets[index])
        }
        if isTraced { trace.append("\(devices[index].id) writes \(operations.map(\.kind))") }
    }

    static let tallied = Operation(
        collection: "Counter", id: "tally", kind: .update(operators: ["$inc": ["total": .int64(1)]], arrayFilters: []))

    mutating func randomOperation() -> Operation {
        let key = randomKey()
        let id = Value(idText: key.idText) ?? .null
        let field = ["a", "b", "c.x", "c.y", "c"].randomElement(using: &generator) ?? "a"
        let value = Value.int64(Int64.random(in: 0..<100, using: &generator))
        func update(_ operators: Document) -> Operation {
            Operation(collection: key.collection, id: id, kind: .update(operators: operators, arrayFilters: []))
        }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<6:
            increments += 1
            let token = "t\(increments)"
            tokens.append(token)
            return Operation(
                collection: "Counter", id: "counter",
                kind: .update(
                    operators: ["$inc": ["total": .int64(1)], "$push": ["log": .string(token)]], arrayFilters: []))
        case 6..<8: return Self.tallied
        case 8..<10:
            return Operation(
                collection: "Note", id: id, kind: .insert(Self.member(["_id": id, "a": value, "c": ["x": value]])))
        case 10..<12: return Operation(collection: "Note", id: id, kind: .delete)
        case 13..<14: return update(["$unset": .document([field: ""])])
        case 12..<13:
            return Operation(
                collection: "Note", id: .string("forbidden"),
                kind: .insert(Self.member(["_id": "forbidden", "forbidden": true])))
        default:
            let value: Value = field == "c" ? ["x": value, "z": value] : value
            return update(["$set": .document([field: value])])
        }
    }
}

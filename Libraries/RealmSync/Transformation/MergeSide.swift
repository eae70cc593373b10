/// The instructions of one side of a merge, in order.
struct MergeSide {
    private(set) var changesets: [MergedChangeset]
    var nodes: [MergeNode] = []
    /// The places of the instructions that add a table or column, by what they add.
    private var additions: [Definition: [Int]] = [:]
    /// The places of erased tables and columns, which concern everything.
    private var erasures: [Int] = []
    /// The places of the instructions of objects, by object.
    private var ofObjects: [Int] = []
    /// Where an object's places begin in `ofObjects`; those of the next object are their end.
    private var starts: [Int] = []

    /// A table, or a column of it.
    private struct Definition: Hashable {
        let table: UInt32
        let column: UInt32?
    }

    init(_ changesets: [MergedChangeset], _ table: inout SymbolTable) {
        self.changesets = changesets
        nodes.reserveCapacity(changesets.reduce(0) { $0 + $1.changeset.instructions.count })
        for (number, merged) in changesets.enumerated() {
            let strings = merged.changeset.strings
            let symbols = strings.ranges.map { table.symbol(strings.bytes($0)) }
            for (place, instruction) in merged.changeset.instructions.enumerated() {
                nodes.append(
                    Self.node(
                        instruction, changeset: number, place: place, origin: merged.origin, symbols, strings, &table))
            }
        }
    }

    private static func node(
        _ instruction: Instruction, changeset: Int, place: Int, origin: ChangesetOrigin, _ symbols: [UInt32],
        _ strings: InternStrings, _ table: inout SymbolTable
    ) -> MergeNode {
        func symbol(_ string: InternString) -> UInt32 { symbols[Int(string.index)] }
        func identity(_ key: PrimaryKey) -> PrimaryKey {
            if case .string(let string) = key { .string(InternString(index: symbol(string))) } else { key }
        }
        func node(_ name: InternString, _ action: MergeNode.Action) -> MergeNode {
            MergeNode(changeset: changeset, place: place, origin: origin, table: symbol(name), action: action)
        }
        var made: MergeNode
        switch instruction {
        case .addTable(let name, let kind):
            made = node(name, .addTable(kind))
            switch kind {
            case .topLevel(let key), .asymmetric(let key): made.named = symbol(key.field)
            case .embedded: break
            }
        case .eraseTable(let name): made = node(name, .eraseTable)
        case .addColumn(let name, let field, let column):
            made = node(name, .addColumn(column))
            made.field = symbol(field)
            if let target = column.target { made.named = symbol(target) }
        case .eraseColumn(let name, let field):
            made = node(name, .eraseColumn)
            made.field = symbol(field)
        case .createObject(let name, let key):
            made = node(name, .createObject)
            made.object = table.object(table: made.table, key: identity(key))
        case .eraseObject(let name, let key):
            made = node(name, .eraseObject)
            made.object = table.object(table: made.table, key: identity(key))
        case .edit(let path, let edit):
            made = node(path.table, .edit(edit))
            made.object = table.object(table: made.table, key: identity(path.key))
            made.field = symbol(path.field)
            made.path = path.elements
            for (place, element) in path.elements.enumerated() {
                if case .key(let key) = element { made.path[place] = .key(InternString(index: symbol(key))) }
            }
            guard case .setInsert(let value) = edit else {
                if case .setErase(let value) = edit { made.comparable = comparable(value) }
                break
            }
            made.comparable = comparable(value)
        }
        return made

        func comparable(_ value: Payload) -> Payload {
            switch value {
            case .string(let range): .string(BufferRange(offset: table.symbol(strings.bytes(range)), count: 0))
            case .binary(let range): .binary(BufferRange(offset: table.symbol(strings.bytes(range)), count: 0))
            case .link(let name, let key): .link(table: InternString(index: symbol(name)), key: identity(key))
            default: value
            }
        }
    }

    /// Groups the instructions by what they may conflict with.
    mutating func group(objectCount: Int) {
        (additions, erasures) = ([:], [])
        var counts = [Int](repeating: 0, count: objectCount + 1)
        for (place, node) in nodes.enumerated() where !node.isDiscarded {
            switch node.action {
            case .addTable: additions[Definition(table: node.table, column: nil), default: []].append(place)
            case .addColumn: additions[Definition(table: node.table, column: node.field), default: []].append(place)
            case .eraseTable, .eraseColumn: erasures.append(place)
            case .createObject, .eraseObject, .edit: counts[node.object + 1] += 1
            }
        }
        for object in 0..<objectCount { counts[object + 1] += counts[object] }
        starts = counts
        ofObjects = [Int](repeating: 0, count: counts[objectCount])
        for (place, node) in nodes.enumerated() where !node.isDiscarded && node.object >= 0 {
            ofObjects[counts[node.object]] = place
            counts[node.object] += 1
        }
    }

    /// The places of instructions that may conflict with an instruction of the other side, in order.
    func candidates(for node: MergeNode) -> MergeCandidates {
        switch node.action {
        // Every instruction may concern an erased table or column.
        case .eraseTable, .eraseColumn: MergeCandidates(all: nodes.count)
        case .addTable: additions(of: Definition(table: node.table, column: nil))
        case .addColumn: additions(of: Definition(table: node.table, column: node.field))
        case .createObject, .eraseObject, .edit:
            MergeCandidates(ofObjects[starts[node.object]..<starts[node.object + 1]], erasures[...])
        }
    }

    private func additions(of definition: Definition) -> MergeCandidates {
        MergeCandidates(additions[definition, default: []][...], erasures[...])
    }

    /// Inserts an instruction that erases a column, before another one.
    /// - Parameters:
    ///   - place: That of the other one, whose changeset gets the new one.
    ///   - column: The one that the other side has added.
    mutating func insertErasure(
        at place: Int, of column: MergeNode, table: ArraySlice<UInt8>, field: ArraySlice<UInt8>
    ) {
        let number = nodes[place].changeset
        let name = changesets[number].changeset.strings.intern(table)
        let property = changesets[number].changeset.strings.intern(field)
        var node = MergeNode(
            changeset: number, place: nil, origin: nodes[place].origin, table: column.table, action: .eraseColumn)
        node.field = column.field
        node.inserted = .eraseColumn(table: name, field: property)
        node.isModified = true
        nodes.insert(node, at: place)
    }

    /// The names of the table and the column of an instruction that adds one.
    func names(of node: MergeNode) -> (table: ArraySlice<UInt8>, field: ArraySlice<UInt8>)? {
        let changeset = changesets[node.changeset].changeset
        guard let place = node.place, case .addColumn(let table, let field, _) = changeset.instructions[place] else {
            return nil
        }
        return (changeset.strings.bytes(table), changeset.strings.bytes(field))
    }

    /// The changesets with what the merge has left of their instructions.
    func merged() -> [MergedChangeset] {
        var modified = [Bool](repeating: false, count: changesets.count)
        for node in nodes where node.isDiscarded || node.isModified { modified[node.changeset] = true }
        var merged = changesets
        for (number, isModified) in modified.enumerated() where isModified {
            merged[number].isModified = true
            merged[number].changeset.instructions.removeAll(keepingCapacity: true)
        }
        for node in nodes where modified[node.changeset] && !node.isDiscarded {
            if let instruction = instruction(node) { merged[node.changeset].changeset.instructions.append(instruction) }
        }
        return merged
    }

    /// A node's instruction, with the indexes and sizes that it has now.
    private func instruction(_ node: MergeNode) -> Instruction? {
        guard let place = node.place else { return node.inserted }
        let original = changesets[node.changeset].changeset.instructions[place]
        guard node.isModified, case .edit(var path, _) = original, case .edit(let edit) = node.action else {
            return original
        }
        for (place, element) in node.path.enumerated() where element.index != nil { path.elements[place] = element }
        return .edit(path, edit)
    }
}

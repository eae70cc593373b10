/// An instruction during a merge, with symbols in place of the strings by which instructions are compared.
struct MergeNode {
    /// What the instruction does. Payloads refer to the strings of the node's changeset.
    enum Action {
        case addTable(TableKind)
        case eraseTable
        case addColumn(Column)
        case eraseColumn
        case createObject
        case eraseObject
        case edit(Edit)
    }

    /// Its changeset, by its place on its side.
    let changeset: Int
    /// Its place in that changeset; nil if the merge has inserted it.
    let place: Int?
    let origin: ChangesetOrigin
    /// The symbol of its table.
    let table: UInt32
    /// The symbol of the column or property; of those only that have one.
    var field: UInt32 = 0
    /// The number of the object; of those only that have one.
    var object = -1
    /// The steps of the path, with symbols as keys.
    var path: [PathElement] = []
    var action: Action
    /// The symbols of what an added table or column names: its key's field, or its links' target.
    var named: UInt32 = 0
    /// Of an edit of a set: its value, with symbols in place of strings, so that it is compared by value.
    var comparable: Payload = .null
    /// Of an inserted instruction: itself.
    var inserted: Instruction?
    var isDiscarded = false
    var isModified = false

    /// How deep it is: a table 1, a column or object 2, a property 3 and one more for each step from there.
    var level: Int {
        switch action {
        case .addTable, .eraseTable: 1
        case .addColumn, .eraseColumn, .createObject, .eraseObject: 2
        case .edit: 3 + path.count
        }
    }

    /// The index with which the path of an edit of a list ends.
    var index: Int {
        get { Int(path.last?.index ?? 0) }
        set { setIndex(newValue, at: path.count - 1) }
    }

    /// Replaces an index in the path. As in realm-core, sizes and indexes are computed with 32 bits.
    mutating func setIndex(_ index: Int, at place: Int) {
        let element = PathElement.index(UInt32(truncatingIfNeeded: index))
        guard path[place] != element else { return }
        path[place] = element
        isModified = true
    }

    /// Replaces the edit, whose numbers have changed.
    mutating func change(_ edit: Edit) {
        action = .edit(edit)
        isModified = true
    }

    func isLater(than other: MergeNode) -> Bool { other.origin < origin }

    /// Whether both are at the same property of the same object.
    func hasSameField(as other: MergeNode) -> Bool { object == other.object && field == other.field }

    /// Whether both are at places of the same list or dictionary.
    func hasSameContainer(as other: MergeNode) -> Bool {
        hasSameField(as: other) && path.count == other.path.count && !path.isEmpty
            && path.dropLast() == other.path.dropLast()
    }

    /// Whether another, longer path begins with this one.
    func isPrefix(of other: MergeNode) -> Bool {
        hasSameField(as: other) && path.count < other.path.count && path[...] == other.path[..<path.count]
    }

    /// Whether another, longer path leads through the list at whose element this one ends.
    func isContainerPrefix(of other: MergeNode) -> Bool {
        hasSameField(as: other) && !path.isEmpty && path.count < other.path.count
            && path.dropLast() == other.path[..<(path.count - 1)]
    }
}

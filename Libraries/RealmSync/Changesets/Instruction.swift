/// One step of a changeset.
public enum Instruction: Sendable {
    case addTable(InternString, TableKind)
    case eraseTable(InternString)
    case addColumn(table: InternString, field: InternString, Column)
    case eraseColumn(table: InternString, field: InternString)
    case createObject(table: InternString, PrimaryKey)
    case eraseObject(table: InternString, PrimaryKey)
    /// A change of a value.
    case edit(Path, Edit)
}

/// What is done at a path. Sizes are those of the list before the edit: replicas that disagree about them would have diverged.
public enum Edit: Sendable {
    /// Writes a property, or the value of a dictionary's key; the path ends with one. `isDefault`: the schema's default wrote it,
    /// so that it loses to any value that a user wrote.
    case update(Payload, isDefault: Bool)
    /// Replaces an element of a list; the path ends with its index.
    case updateElement(Payload, priorSize: UInt32)
    /// Adds to an integer, with overflow.
    case addInteger(Int64)
    /// Inserts before the index with which the path ends.
    case arrayInsert(Payload, priorSize: UInt32)
    /// Moves the element with whose index the path ends.
    case arrayMove(to: UInt32, priorSize: UInt32)
    /// Removes the element with whose index the path ends.
    case arrayErase(priorSize: UInt32)
    /// Empties the collection at the path.
    case clear(CollectionType)
    case setInsert(Payload)
    case setErase(Payload)
}

/// The instructions' numbers in a changeset.
enum Opcode: Int64 {
    case addTable = 0
    case eraseTable = 1
    case createObject = 2
    case eraseObject = 3
    case update = 4
    case addInteger = 5
    case addColumn = 6
    case eraseColumn = 7
    case arrayInsert = 8
    case arrayMove = 9
    case arrayErase = 10
    case clear = 11
    case setInsert = 12
    case setErase = 13
    /// No instruction: it adds a string to the table.
    case internString = 0x3f
}

/// What a table's objects are.
public enum TableKind: Hashable, Sendable {
    /// Objects with a primary key.
    case topLevel(PrimaryKeyColumn)
    /// Objects inside others.
    case embedded
    /// Objects that are only uploaded.
    case asymmetric(PrimaryKeyColumn)
}

/// The column of a table's primary key.
public struct PrimaryKeyColumn: Hashable, Sendable {
    public var field: InternString
    public var type: PayloadType
    public var isNullable: Bool

    public init(field: InternString, type: PayloadType, isNullable: Bool) {
        self.field = field
        self.type = type
        self.isNullable = isNullable
    }
}

/// A column's collection, by its number in a changeset.
public enum CollectionType: Int64, Hashable, Sendable {
    case single = 0
    case list = 1
    case dictionary = 2
    case set = 3
}

/// A column that is added to a table.
public struct Column: Hashable, Sendable {
    /// The type of a value; `null` is mixed.
    public var type: PayloadType
    public var isNullable: Bool
    public var collection: CollectionType
    /// The table that links lead to; of a `link` only.
    public var target: InternString?
    /// The type of a dictionary's keys; of a `dictionary` only.
    public var keyType: PayloadType?

    public init(
        type: PayloadType, isNullable: Bool, collection: CollectionType = .single, target: InternString? = nil,
        keyType: PayloadType? = nil
    ) {
        self.type = type
        self.isNullable = isNullable
        self.collection = collection
        self.target = target
        self.keyType = keyType
    }
}

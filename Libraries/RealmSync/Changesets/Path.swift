/// One step from a property into its value.
public enum PathElement: Hashable, Sendable {
    /// An element of a list.
    case index(UInt32)
    /// A key of a dictionary, or a property of an embedded object.
    case key(InternString)

    /// The index, if it is one.
    public var index: UInt32? {
        if case .index(let index) = self { index } else { nil }
    }
}

/// The place of a value: an object, one of its properties, and the steps from there.
public struct Path: Hashable, Sendable {
    /// The object's table.
    public var table: InternString
    /// The object.
    public var key: PrimaryKey
    /// The property.
    public var field: InternString
    /// The steps from the property's value to the place; none for the property itself.
    public var elements: [PathElement]

    public init(table: InternString, key: PrimaryKey, field: InternString, elements: [PathElement] = []) {
        self.table = table
        self.key = key
        self.field = field
        self.elements = elements
    }
}

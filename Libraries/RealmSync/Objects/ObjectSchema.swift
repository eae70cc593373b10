public import DocumentModel

/// The classes of the objects of a partition, by their names.
public struct ObjectSchema: Hashable, Sendable {
    /// A class: a table with its columns.
    public struct Class: Hashable, Sendable {
        /// What identifies its objects; `nil` if they are embedded in others.
        public var key: Key?
        /// The properties besides the key, by their names.
        public var properties: [ExactText: Property] = [:]

        /// A class without properties.
        public init(key: Key?) { self.key = key }
    }

    /// The property that identifies objects.
    public struct Key: Hashable, Sendable {
        @ExactText public var name: String
        public var type: PayloadType
        public var isNullable: Bool

        public init(name: String, type: PayloadType, isNullable: Bool) {
            self.name = name
            self.type = type
            self.isNullable = isNullable
        }

        /// Whether a primary key is of the type.
        func accepts(_ id: ObjectKey.Id) -> Bool { id.type == type || id == .null && isNullable }
    }

    /// A property of an object, or the common type of a collection's elements.
    public struct Property: Hashable, Sendable {
        /// The type of a value; `null` is mixed, and `link` also stands for an embedded object.
        public var type: PayloadType
        public var isNullable: Bool
        public var collection: CollectionType
        /// The class that a `link` leads to, or of which an object is embedded.
        public var target: ExactText?

        public init(
            type: PayloadType, isNullable: Bool, collection: CollectionType = .single, target: ExactText? = nil
        ) {
            self.type = type
            self.isNullable = isNullable
            self.collection = collection
            self.target = target
        }

        /// The type of one element.
        var element: Property { Property(type: type, isNullable: isNullable, target: target) }

        /// A mixed value.
        static let mixed = Property(type: .null, isNullable: true)
    }

    /// The classes.
    public var classes: [ExactText: Class] = [:]

    /// No classes.
    public init() {}

    /// The class of the objects that are embedded in a property; `nil` if it holds no embedded objects.
    func embedded(in property: Property) -> Class? {
        guard let target = property.target, let found = classes[target], found.key == nil else { return nil }
        return found
    }
}

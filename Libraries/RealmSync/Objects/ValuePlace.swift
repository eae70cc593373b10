import DocumentModel

/// The place of a value in an object, independent of the changeset that names it.
struct ValuePlace: Hashable, Sendable {
    /// A property of an object.
    struct Property: Hashable, Sendable {
        let key: ObjectKey
        let field: ExactText
    }

    enum Step: Hashable, Sendable {
        case index(UInt32)
        case key(ExactText)
    }

    let property: Property
    /// The steps from the property's value.
    let steps: [Step]

    /// - Throws: ``ApplyError`` for names that aren't UTF-8, and keys that no object has.
    init(_ path: Path, _ texts: ChangesetTexts) throws(ApplyError) {
        var steps: [Step] = []
        for element in path.elements {
            switch element {
            case .index(let index): steps.append(.index(index))
            case .key(let name): steps.append(.key(try texts.name(name)))
            }
        }
        property = Property(key: try texts.key(path.table, path.key), field: try texts.name(path.field))
        self.steps = steps
    }

    /// The place of what has a value in its first steps.
    func prefix(_ count: Int) -> ValuePlace { ValuePlace(property: property, steps: Array(steps.prefix(count))) }

    private init(property: Property, steps: [Step]) {
        self.property = property
        self.steps = steps
    }

    var hasIndex: Bool { steps.contains { if case .index = $0 { true } else { false } } }

    /// The place in a changeset.
    func path(in builder: inout ChangesetBuilder) -> Path {
        var path = builder.path(property.key, property.field.text)
        path.elements = steps.map {
            switch $0 {
            case .index(let index): .index(index)
            case .key(let name): .key(builder.name(name.text))
            }
        }
        return path
    }

    /// What is there in objects: undefined if it is the initial value of a property; `nil` if there is no such place.
    func value(in objects: [ObjectKey: Document]) -> Value? {
        guard let object = objects[property.key] else { return nil }
        var value = object[property.field.text] ?? .undefined
        for step in steps {
            switch (step, value) {
            case (.index(let index), .array(let elements)) where index < elements.count: value = elements[Int(index)]
            case (.key(let name), .document(let document)): value = document[name.text] ?? .undefined
            default: return nil
            }
        }
        return value
    }
}

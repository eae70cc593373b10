import DocumentModel

/// One edit of an object.
struct ObjectEdit {
    let schema: ObjectSchema
    /// The class and the property, for errors.
    let name: String
    let edit: Edit
    let texts: ChangesetTexts
    /// How many elements of collections had to make room, or might have.
    private(set) var moved = 0

    /// Applies the edit to a property of an object, or inside of it.
    /// - Parameter rest: The path from the property on.
    mutating func apply(
        toPropertyOf object: inout Document, _ field: String, _ property: ObjectSchema.Property,
        _ rest: ArraySlice<PathElement>
    ) throws(ApplyError) {
        var value = schema.initial(property)
        // Taken out, so that a collection isn't copied for each edit of it.
        if let place = object.index(of: field) {
            value = object.fields[place].value
            object.fields[place].value = .null
        }
        try apply(to: &value, property, rest)
        object.put(schema.initial(property).isIdentical(to: value) ? nil : value, at: field)
    }

    private mutating func apply(
        to value: inout Value, _ property: ObjectSchema.Property, _ path: ArraySlice<PathElement>
    ) throws(ApplyError) {
        guard let first = path.first else { return try change(&value, property) }
        let rest = path.dropFirst()
        let holdsMixed = property.isMixed && property.collection == .single
        switch first {
        case .index(let index):
            guard property.collection == .list || holdsMixed, var elements = value.takeArray() else {
                throw badPlace("no list")
            }
            try apply(toElements: &elements, property.element, Int(index), rest)
            value = .array(elements)
        case .key(let key):
            let isEntry = property.collection == .dictionary || holdsMixed && !value.isMixedLink
            let embedded = property.collection == .single ? schema.embedded(in: property) : nil
            guard isEntry || embedded != nil, var document = value.takeDocument() else {
                throw badPlace("no dictionary or embedded object")
            }
            let field = try texts.name(key)
            if let embedded {
                guard let inner = embedded.properties[field] else {
                    throw ApplyError(.unknownProperty, "objects in \(name) have no property \(field)")
                }
                try apply(toPropertyOf: &document, field.text, inner, rest)
            } else {
                try apply(toEntries: &document, field.text, property.element, rest)
            }
            value = .document(document)
        }
    }

    private func badPlace(_ what: String) -> ApplyError { ApplyError(.badPlace, "\(name): \(what) at the path") }
    private var wrongType: ApplyError { ApplyError(.wrongType, "\(name): the edit doesn't fit the type") }

    // MARK: Collections

    private mutating func apply(
        toElements elements: inout [Value], _ element: ObjectSchema.Property, _ index: Int,
        _ rest: ArraySlice<PathElement>
    ) throws(ApplyError) {
        let size = elements.count
        if rest.isEmpty {
            if let priorSize = edit.priorSize, priorSize != size {
                throw ApplyError(.badSize, "\(name): a list has another size than the edit says")
            }
            if case .arrayInsert(let payload, _) = edit, index <= size {
                moved += size - index
                return elements.insert(try value(payload, element, present: .null), at: index)
            }
        }
        guard index < size else { throw badPlace("no element") }
        guard rest.isEmpty else { return try apply(to: &elements[index], element, rest) }
        moved += size
        switch edit {
        case .updateElement(let payload, _):
            elements[index] = try value(payload, element, present: elements[index])
        case .arrayMove(let target, _):
            guard target < size, target != index else { throw badPlace("no target of a move") }
            elements.insert(elements.remove(at: index), at: Int(target))
        case .arrayErase: elements.remove(at: index)
        default: try apply(to: &elements[index], element, rest)
        }
    }

    private mutating func apply(
        toEntries entries: inout Document, _ key: String, _ element: ObjectSchema.Property,
        _ rest: ArraySlice<PathElement>
    ) throws(ApplyError) {
        let (place, isThere) = entries.place(of: key)
        guard rest.isEmpty, case .update(let payload, _) = edit else {
            guard isThere else { throw badPlace("no entry") }
            return try apply(to: &entries.fields[place].value, element, rest)
        }
        moved += entries.count - place
        switch payload {
        case .erased: if isThere { entries.fields.remove(at: place) }
        default:
            var present = isThere ? entries.fields[place].value : .null
            // Unlike elsewhere, an embedded object replaces the one that is there.
            if case .objectValue = payload { present = .null }
            let value = try value(payload, element, present: present)
            if isThere {
                entries.fields[place].value = value
            } else {
                entries.fields.insert(.init(key, value), at: place)
            }
        }
    }

    // MARK: Values

    private mutating func change(
        _ value: inout Value, _ property: ObjectSchema.Property
    ) throws(ApplyError) {
        switch edit {
        case .update(let payload, _):
            guard property.collection == .single else { throw wrongType }
            value = try self.value(payload, property, present: value)
        case .addInteger(let number):
            switch value {
            case .int64(let present): value = .int64(present &+ number)
            case .null: break
            default: throw wrongType
            }
        case .clear(let collection):
            guard
                property.isMixed && property.collection == .single && collection != .set
                    || property.collection == collection, let empty = collection.empty
            else { throw wrongType }
            value = empty
        case .setInsert(let payload), .setErase(let payload):
            guard property.collection == .set else { throw wrongType }
            let element = try self.value(payload, property.element, present: .null)
            guard var elements = value.takeArray() else { throw wrongType }
            let place = elements.partitioningIndex { Value.compare($0, element) >= 0 }
            let has = place < elements.count && Value.compare(elements[place], element) == 0
            moved += elements.count - place
            switch (edit, has) {
            case (.setInsert, false): elements.insert(element, at: place)
            case (.setErase, true): elements.remove(at: place)
            default: break
            }
            value = .array(elements)
        case .updateElement, .arrayInsert, .arrayMove, .arrayErase: throw wrongType
        }
    }

    /// The value that a payload writes.
    /// - Parameter present: what is at the place.
    private mutating func value(
        _ payload: Payload, _ type: ObjectSchema.Property, present: Value
    ) throws(ApplyError) -> Value {
        let isEmbedded = schema.embedded(in: type) != nil
        switch payload {
        case .null:
            guard type.isNullable || type.isMixed || type.type == .link else { throw wrongType }
            return .null
        case .link(let table, let key):
            let key = try texts.key(table, key)
            guard schema.classes[ExactText(key.table)]?.key.map({ $0.accepts(key.id) }) ?? false else {
                throw wrongType
            }
            if type.isMixed { return .mixedLink(key) }
            guard type.type == .link, !isEmbedded, let target = type.target, target == ExactText(key.table) else {
                throw wrongType
            }
            return key.id.value
        case .objectValue:
            guard isEmbedded else { throw wrongType }
            if case .document = present { return present }
            return .document(Document())
        case .dictionary:
            guard type.isMixed else { throw wrongType }
            if case .document = present, !present.isMixedLink { return present }
            return .document(Document())
        case .list:
            guard type.isMixed else { throw wrongType }
            if case .array = present { return present }
            return .array([])
        // realm-core has no sets in mixed values.
        case .erased, .set: throw wrongType
        default:
            guard type.isMixed || type.type == payload.type else { throw wrongType }
            return try scalar(payload)
        }
    }

    private func scalar(_ payload: Payload) throws(ApplyError) -> Value {
        switch payload {
        case .int(let number): .int64(number)
        case .bool(let flag): .bool(flag)
        case .string(let range): .string(try texts.text(range))
        case .binary(let range): .binary(Binary(texts.bytes(range)))
        case .timestamp(let time): .date(time.milliseconds)
        case .float(let number): .double(Double(number))
        case .double(let number): .double(number)
        case .decimal(let number): .decimal128(number)
        case .objectId(let id): .objectId(id)
        case .uuid(let uuid): .binary(uuid.binary)
        default: throw wrongType
        }
    }
}

extension Edit {
    /// The size that the list must have.
    fileprivate var priorSize: Int? {
        switch self {
        case .updateElement(_, let size), .arrayInsert(_, let size), .arrayMove(_, let size), .arrayErase(let size):
            Int(size)
        default: nil
        }
    }
}

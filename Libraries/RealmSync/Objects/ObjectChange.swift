import DocumentModel

/// Writes the instructions that change an object into another state.
struct ObjectChange {
    let schema: ObjectSchema
    var builder: ChangesetBuilder

    /// The instructions for an object that is created, changed, or, if there is no new one, erased.
    mutating func write(_ key: ObjectKey, of type: ObjectSchema.Class, from old: Document?, to new: Document?) {
        let table = builder.name(key.table), primaryKey = builder.key(key.id)
        guard let new else {
            if old != nil { builder.append(.eraseObject(table: table, primaryKey)) }
            return
        }
        if old == nil { builder.append(.createObject(table: table, primaryKey)) }
        for (field, property) in type.ordered {
            let path = Path(table: table, key: primaryKey, field: builder.name(field))
            write(
                path, property, from: schema.value(of: old, field, property), to: schema.value(of: new, field, property)
            )
        }
    }

    private mutating func write(_ path: Path, _ property: ObjectSchema.Property, from old: Value, to new: Value) {
        guard !old.isIdentical(to: new) else { return }
        switch (property.collection, old, new) {
        case (.list, .array(let old), .array(let new)): write(path, property.element, fromList: old, to: new)
        case (.set, .array(let old), .array(let new)):
            for value in old where !new.hasElement(value) {
                builder.append(.edit(path, .setErase(builder.payload(value, property))))
            }
            for value in new where !old.hasElement(value) {
                builder.append(.edit(path, .setInsert(builder.payload(value, property))))
            }
        case (.dictionary, .document(let old), .document(let new)):
            write(path, property.element, fromEntries: old, to: new)
        default:
            write(path, property, from: old, to: new) { .update($0, isDefault: false) }
        }
    }

    /// Writes a single value.
    /// - Parameter edit: What puts a payload at the place.
    private mutating func write(
        _ path: Path, _ type: ObjectSchema.Property, from old: Value, to new: Value, edit: (Payload) -> Edit
    ) {
        guard !old.isIdentical(to: new) else { return }
        switch (old, new) {
        case (_, .document(let object)) where schema.embedded(in: type) != nil:
            var present = Document()
            if case .document(let document) = old {
                present = document
            } else {
                builder.append(.edit(path, edit(.objectValue)))
            }
            guard let target = schema.embedded(in: type) else { return }
            for (field, property) in target.ordered {
                var inner = path
                inner.elements.append(.key(builder.name(field)))
                write(
                    inner, property, from: schema.value(of: present, field, property),
                    to: schema.value(of: object, field, property))
            }
        case (_, .array(let elements)):
            var present: [Value] = []
            if case .array(let elements) = old { present = elements } else { builder.append(.edit(path, edit(.list))) }
            write(path, type, fromList: present, to: elements)
        case (_, .document(let entries)) where !new.isMixedLink:
            var present = Document()
            if case .document(let entries) = old, !old.isMixedLink {
                present = entries
            } else {
                builder.append(.edit(path, edit(.dictionary)))
            }
            write(path, type, fromEntries: present, to: entries)
        default: builder.append(.edit(path, edit(builder.payload(new, type))))
        }
    }

    private mutating func write(
        _ path: Path, _ element: ObjectSchema.Property, fromList old: [Value], to new: [Value]
    ) {
        func place(_ index: Int) -> Path {
            var place = path
            place.elements.append(.index(UInt32(index)))
            return place
        }
        if old.count == new.count {
            for index in new.indices {
                write(place(index), element, from: old[index], to: new[index]) {
                    .updateElement($0, priorSize: UInt32(new.count))
                }
            }
            return
        }
        // What both have in common at the beginning and at the end stays.
        let shorter = min(old.count, new.count)
        let head = (0..<shorter).first { !old[$0].isIdentical(to: new[$0]) } ?? shorter
        let tail =
            (0..<shorter - head).first { !old[old.count - 1 - $0].isIdentical(to: new[new.count - 1 - $0]) }
            ?? shorter - head
        var size = old.count
        for index in (head..<old.count - tail).reversed() {
            builder.append(.edit(place(index), .arrayErase(priorSize: UInt32(size))))
            size -= 1
        }
        for index in head..<new.count - tail {
            let prior = UInt32(size)
            // A value that is at the place before would make the insertion a change of it.
            insert(new[index], at: place(index), element, prior)
            size += 1
        }
    }

    private mutating func insert(_ value: Value, at path: Path, _ element: ObjectSchema.Property, _ prior: UInt32) {
        // Nothing equals a value that can't be stored, so that null is inserted, too.
        write(path, element, from: .undefined, to: value) { .arrayInsert($0, priorSize: prior) }
    }

    private mutating func write(
        _ path: Path, _ element: ObjectSchema.Property, fromEntries old: Document, to new: Document
    ) {
        for field in old.fields where new[field.key] == nil {
            var place = path
            place.elements.append(.key(builder.name(field.key)))
            builder.append(.edit(place, .update(.erased, isDefault: false)))
        }
        for field in new.fields {
            var place = path
            place.elements.append(.key(builder.name(field.key)))
            write(place, element, from: old[field.key] ?? .undefined, to: field.value) {
                .update($0, isDefault: false)
            }
        }
    }
}

extension ObjectSchema.Class {
    /// The properties by their names' order, so that equal changes make equal changesets.
    var ordered: [(field: String, property: ObjectSchema.Property)] {
        properties.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
    }
}

extension ObjectSchema {
    /// What an object has in a property; of no object, the initial value.
    func value(of object: Document?, _ field: String, _ property: Property) -> Value {
        object?[field] ?? initial(property)
    }
}

extension [Value] {
    /// Whether a set has an element.
    fileprivate func hasElement(_ value: Value) -> Bool { contains { Value.compare($0, value) == 0 } }
}

public import DocumentModel

/// What has to be done to a document so that it is what an object has become.
public enum DocumentWrite: Sendable {
    case insert(Document)
    /// Fields by their path, with dots; `nil` removes one.
    case update([(path: String, value: Value?)])
    case delete

    /// The update that makes changes of fields, each of another one, with `$set` and `$unset`.
    public static func operators(_ changes: [(path: String, value: Value?)]) -> Document {
        var set = Document(), unset = Document()
        for (path, value) in changes {
            if let value { set.fields.append(.init(path, value)) } else { unset.fields.append(.init(path, "")) }
        }
        var update = Document()
        if !set.isEmpty { update["$set"] = .document(set) }
        if !unset.isEmpty { update["$unset"] = .document(unset) }
        return update
    }
}

extension ObjectSchema {
    /// The write that follows from a change of an object of a class with a primary key; `nil` if nothing follows.
    ///
    /// A new document has all properties but those that are null. Fields that the class doesn't have are left alone, also those of
    /// embedded objects, unless their list or dictionary is written as a whole: where elements were moved, inserted or erased, it
    /// isn't known whose they were.
    /// - Parameter moved: Where that was; `nil` if it isn't known, and all lists and dictionaries are written as a whole.
    package func write(
        _ key: ObjectKey, from old: Document?, to new: Document?, moved: MovedElements?
    ) -> DocumentWrite? {
        guard let type = classes[ExactText(key.table)], let keyName = type.key?.name else { return nil }
        guard let new else { return old == nil ? nil : .delete }
        guard let old else {
            var document = explicit(new, type)
            document.fields.insert(.init(keyName, key.id.value), at: 0)
            return .insert(document)
        }
        var update = FieldChanges(schema: self, isKept: { moved?.isKept($0, of: key) ?? false })
        update.collect(type, from: old, to: new, at: "")
        return update.changes.isEmpty ? nil : .update(update.changes)
    }

    /// The same where it isn't known how elements of collections have moved.
    public func write(_ key: ObjectKey, from old: Document?, to new: Document?) -> DocumentWrite? {
        write(key, from: old, to: new, moved: nil)
    }

    /// An object with all properties but those that are null.
    private func explicit(_ object: Document, _ type: Class) -> Document {
        var document = Document()
        for (field, property) in type.ordered {
            if let value = explicit(value(of: object, field, property), property) {
                document.fields.append(.init(field, value))
            }
        }
        return document
    }

    /// - Returns: `nil` for a property that is null.
    fileprivate func explicit(_ value: Value, _ property: Property) -> Value? {
        if property.collection == .single, value.isNull { return nil }
        guard let target = embedded(in: property) else { return value }
        switch (property.collection, value) {
        case (.dictionary, .document(let entries)):
            return .document(
                Document(fields: entries.fields.map { .init($0.key, element($0.value, target)) }))
        case (_, .array(let elements)): return .array(elements.map { element($0, target) })
        default: return element(value, target)
        }
    }

    fileprivate func element(_ value: Value, _ type: Class) -> Value {
        if case .document(let object) = value { return .document(explicit(object, type)) }
        return value
    }
}

/// Collects the fields that differ between two states of an object.
private struct FieldChanges {
    let schema: ObjectSchema
    /// Whether the elements of a collection, or what is at a place, are still those that were there.
    let isKept: (_ place: String) -> Bool
    private(set) var changes: [(path: String, value: Value?)] = []

    mutating func collect(
        _ type: ObjectSchema.Class, from old: Document, to new: Document, at prefix: String
    ) {
        for (field, property) in type.ordered {
            let before = schema.value(of: old, field, property), after = schema.value(of: new, field, property)
            guard !before.isIdentical(to: after) else { continue }
            let place = prefix + field
            if let target = schema.embedded(in: property),
                collect(property, target, from: before, to: after, at: place)
            {
                continue
            }
            changes.append((place, schema.explicit(after, property)))
        }
    }

    /// Collects what differs in embedded objects.
    /// - Returns: false if the property has to be written as a whole.
    private mutating func collect(
        _ property: ObjectSchema.Property, _ target: ObjectSchema.Class, from before: Value, to after: Value,
        at place: String
    ) -> Bool {
        switch (property.collection, before, after) {
        case (.single, .document(let before), .document(let after)):
            collect(target, from: before, to: after, at: place + ".")
            return true
        // A document may lack what is empty.
        case (.list, .array(let before), .array(let after)):
            guard !before.isEmpty, before.count <= after.count, isKept(place) else { return false }
            for (index, element) in after.enumerated() {
                collect(index < before.count ? before[index] : nil, element, target) { "\(place).\(index)" }
            }
            return true
        case (.dictionary, .document(let before), .document(let after)):
            let keys = before.fields.map(\.key) + after.fields.map(\.key)
            guard !before.isEmpty, isKept(place), keys.allSatisfy(Self.isName) else { return false }
            for field in before.fields where !after.place(of: field.key).isThere {
                changes.append(("\(place).\(field.key)", nil))
            }
            for field in after.fields {
                let (index, isThere) = before.place(of: field.key)
                collect(isThere ? before.fields[index].value : nil, field.value, target) { "\(place).\(field.key)" }
            }
            return true
        default: return false
        }
    }

    /// Collects what differs in an element.
    private mutating func collect(
        _ before: Value?, _ after: Value, _ target: ObjectSchema.Class, at place: () -> String
    ) {
        if let before, before.isIdentical(to: after) { return }
        let place = place()
        if case .document(let before)? = before, case .document(let after) = after, isKept(place) {
            collect(target, from: before, to: after, at: place + ".")
        } else {
            changes.append((place, schema.element(after, target)))
        }
    }

    /// Whether a key of a dictionary can be a part of a path.
    private static func isName(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.first != UInt8(ascii: "$") && !key.utf8.contains(UInt8(ascii: "."))
    }
}

public import DocumentModel

/// What has to be done to a document so that it is what an object has become.
public enum DocumentWrite: Sendable {
    case insert(Document)
    /// Fields by their path, with dots; `nil` removes one.
    case update([(path: String, value: Value?)])
    case delete

    /// The update that makes changes of fields, with `$set` and `$unset`.
    public static func operators(_ changes: [(path: String, value: Value?)]) -> Document {
        var set = Document(), unset = Document()
        for (path, value) in changes {
            if let value { set[path] = value } else { unset[path] = "" }
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
    /// A new document has all properties but those that are null. Fields that the class doesn't have are left alone.
    public func write(_ key: ObjectKey, from old: Document?, to new: Document?) -> DocumentWrite? {
        guard let type = classes[ExactText(key.table)], let keyName = type.key?.name else { return nil }
        guard let new else { return old == nil ? nil : .delete }
        guard let old else {
            var document = explicit(new, type)
            document.fields.insert(.init(keyName, key.id.value), at: 0)
            return .insert(document)
        }
        var changes: [(path: String, value: Value?)] = []
        collect(&changes, type, from: old, to: new, at: "")
        return changes.isEmpty ? nil : .update(changes)
    }

    private func collect(
        _ changes: inout [(path: String, value: Value?)], _ type: Class, from old: Document, to new: Document,
        at prefix: String
    ) {
        for (field, property) in type.ordered {
            let before = value(of: old, field, property), after = value(of: new, field, property)
            guard !before.isIdentical(to: after) else { continue }
            if property.collection == .single, let target = embedded(in: property), case .document(let before) = before,
                case .document(let after) = after
            {
                collect(&changes, target, from: before, to: after, at: "\(prefix)\(field).")
            } else {
                changes.append((prefix + field, explicit(after, property)))
            }
        }
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
    private func explicit(_ value: Value, _ property: Property) -> Value? {
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

    private func element(_ value: Value, _ type: Class) -> Value {
        if case .document(let object) = value { return .document(explicit(object, type)) }
        return value
    }
}

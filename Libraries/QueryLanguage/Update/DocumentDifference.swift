import DocumentModel

/// The smallest change that turns one document into another, as a change stream shows it for replacements by pipelines.
public enum DocumentDifference {
    /// The fields that are new or differ, those that were removed, and arrays that became shorter. Embedded documents are compared
    /// field by field, arrays element by element.
    public static func between(_ old: Document, _ new: Document) -> UpdateDescription {
        var description = UpdateDescription()
        compare(old, new, "", &description)
        description.uniteUpdates()
        return description
    }

    private static func compare(
        _ old: Document, _ new: Document, _ path: String, _ description: inout UpdateDescription
    ) {
        let oldPlaces = NamedPlaces(old.fields, searches: new.count),
            newPlaces = NamedPlaces(new.fields, searches: old.count)
        for field in old.fields where newPlaces.index(of: field.key) == nil {
            description.removedFields.append(path + field.key)
        }
        for field in new.fields {
            let place = path + field.key
            guard let index = oldPlaces.index(of: field.key) else {
                add(field.value, at: place, to: &description)
                continue
            }
            compare(old.fields[index].value, field.value, place, &description)
        }
    }

    private static func add(_ value: Value, at place: String, to description: inout UpdateDescription) {
        description.updatedFields.fields.append(Document.Field(place, value))
    }

    private static func compare(_ old: Value, _ new: Value, _ place: String, _ description: inout UpdateDescription) {
        if old.isIdentical(to: new) { return }
        switch (old, new) {
        case (.document(let old), .document(let new)) where keepsOrder(old, new):
            compare(old, new, place + ".", &description)
        case (.array(let old), .array(let new)) where !new.isEmpty && !old.isEmpty:
            compare(old, new, place, &description)
        default: add(new, at: place, to: &description)
        }
    }

    /// Whether the common fields have the same order and new ones follow them, so that names alone can describe the change.
    private static func keepsOrder(_ old: Document, _ new: Document) -> Bool {
        let places = NamedPlaces(new.fields, searches: old.count)
        let kept = old.fields.filter { places.index(of: $0.key) != nil }
        return zip(kept, new.fields).allSatisfy { $0.key.hasSameBytes(as: $1.key) } && new.count >= kept.count
    }

    private static func compare(_ old: [Value], _ new: [Value], _ place: String, _ description: inout UpdateDescription)
    {
        if new.count < old.count {
            description.truncatedArrays.append(UpdateDescription.TruncatedArray(field: place, newSize: new.count))
        }
        for index in new.indices {
            if index < old.count {
                compare(old[index], new[index], "\(place).\(index)", &description)
            } else {
                add(new[index], at: "\(place).\(index)", to: &description)
            }
        }
    }
}

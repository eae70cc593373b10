import DocumentModel

extension ObjectSchema {
    /// Whether it has all classes and properties of another one.
    public func includes(_ other: ObjectSchema) -> Bool {
        other.classes.allSatisfy { name, type in
            guard let mine = classes[name], mine.key == type.key else { return false }
            return type.properties.allSatisfy { mine.properties[$0.key] == $0.value }
        }
    }

    /// The classes and properties of both; `nil` if they contradict each other.
    public func joined(with other: ObjectSchema) -> ObjectSchema? {
        var joined = self
        for (name, type) in other.classes {
            guard var mine = joined.classes[name] else {
                joined.classes[name] = type
                continue
            }
            guard mine.key == type.key else { return nil }
            for (field, property) in type.properties {
                if let known = mine.properties[field], known != property { return nil }
                mine.properties[field] = property
            }
            joined.classes[name] = mine
        }
        return joined
    }

    /// The names of classes, and of properties with their class, that another schema doesn't have.
    public func names(beyond other: ObjectSchema) -> [String] {
        classes.sorted { $0.key < $1.key }.flatMap { name, type in
            guard let known = other.classes[name] else { return ["class \(name)"] }
            return type.ordered.filter { known.properties[ExactText($0.field)] == nil }.map {
                "property \(name).\($0.field)"
            }
        }
    }
}

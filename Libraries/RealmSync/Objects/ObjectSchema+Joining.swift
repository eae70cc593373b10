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
        guard contradictions(of: other).isEmpty else { return nil }
        var joined = self
        for (name, type) in other.classes {
            joined.classes[name, default: type].properties.merge(type.properties) { mine, _ in mine }
        }
        return joined
    }

    /// The names of classes, and of properties with their class, that another schema has differently.
    public func contradictions(of other: ObjectSchema) -> [String] {
        other.classes.sorted { $0.key < $1.key }.flatMap { name, type -> [String] in
            guard let mine = classes[name] else { return [] }
            if mine.key != type.key { return ["class \(name)"] }
            return type.ordered.filter { field, property in
                mine.properties[ExactText(field)].map { $0 != property } ?? false
            }.map { "property \(name).\($0.field)" }
        }
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

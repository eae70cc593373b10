import DocumentModel

extension UpdateDescription {
    /// Merges entries of the same path, of which the last is kept, and merges changes inside a field into the entry of that field
    /// if it was set itself: a change stream shows such a field with its final value.
    mutating func uniteUpdates() {
        guard updatedFields.count > 1 else { return }
        var places: [ExactText: Int] = [:]
        var united: [Document.Field] = []
        for field in updatedFields.fields {
            if let place = places[ExactText(field.key)] {
                united[place].value = field.value
            } else if let (place, rest) = Self.above(field.key, places),
                let value = united[place].value.setting(field.value, at: rest)
            {
                united[place].value = value
            } else {
                places[ExactText(field.key)] = united.count
                united.append(field)
            }
        }
        updatedFields.fields = united
    }

    /// The place of an entry above a path, and the rest of the path below it.
    private static func above(_ path: String, _ places: [ExactText: Int]) -> (Int, rest: Path)? {
        for dot in path.utf8.indices where path.utf8[dot] == UInt8(ascii: ".") {
            if let place = places[ExactText(String(path[..<dot]))] {
                return (place, Path(String(path[path.utf8.index(after: dot)...])))
            }
        }
        return nil
    }
}

extension Value {
    fileprivate func setting(_ value: Value, at path: Path) -> Value? {
        guard case .document(var document) = self, document.set(value, at: path) else { return nil }
        return .document(document)
    }
}

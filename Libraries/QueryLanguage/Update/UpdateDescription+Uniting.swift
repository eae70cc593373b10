import DocumentModel

extension UpdateDescription {
    /// Makes one entry of all those of one path, the last being right, and of what was set in a field that is itself new: a change stream
    /// shows that field as it became.
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

    /// The place of an entry above a path, and the way from there.
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

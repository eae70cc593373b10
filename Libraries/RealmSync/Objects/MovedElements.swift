import DocumentModel

/// Where changesets have moved, replaced or removed elements of collections: what is at such a place then needn't be what was there
/// before. A place is written as its document's path, with dots.
package struct MovedElements: Sendable {
    private var places: [ObjectKey: Set<ExactText>] = [:]
    /// The place of an object as a whole.
    private static let all: ExactText = ""

    package init() {}

    package mutating func formUnion(_ other: MovedElements) {
        places.merge(other.places) { $0.union($1) }
    }

    /// Takes a changeset.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8, and keys that no object has.
    package mutating func take(_ changeset: Changeset) throws(ApplyError) {
        let texts = ChangesetTexts(changeset.strings)
        for instruction in changeset.instructions {
            switch instruction {
            case .eraseObject(let table, let key): places[try texts.key(table, key), default: []].insert(Self.all)
            case .edit(let path, let edit):
                guard let depth = Self.depth(of: edit, at: path) else { continue }
                var place = try texts.name(path.field).text
                for element in path.elements.prefix(depth) {
                    switch element {
                    case .index(let index): place += ".\(index)"
                    case .key(let name): place += ".\(try texts.name(name).text)"
                    }
                }
                places[try texts.key(path.table, path.key), default: []].insert(ExactText(place))
            case .createObject, .addTable, .eraseTable, .addColumn, .eraseColumn: break
            }
        }
    }

    /// How much of a path leads to what an edit has moved or replaced; `nil` if all elements stay what they are.
    private static func depth(of edit: Edit, at path: Path) -> Int? {
        if edit.shiftsElements(at: path) { return path.elements.count - 1 }
        switch edit {
        case .clear, .update(.objectValue, _), .update(.erased, _), .update(.null, _): return path.elements.count
        default: return nil
        }
    }

    /// Whether the elements of a collection, or what is at a place, stayed the same.
    func isKept(_ place: String, of key: ObjectKey) -> Bool {
        guard let moved = places[key] else { return true }
        return !moved.contains(Self.all) && !moved.contains(ExactText(place))
    }
}

extension Edit {
    /// Whether elements of the list that a path leads into have other indexes then, or are gone.
    func shiftsElements(at path: Path) -> Bool {
        guard let index = path.elements.last?.index else { return false }
        return switch self {
        case .arrayInsert(_, let size): index < size
        case .arrayMove, .arrayErase: true
        default: false
        }
    }
}

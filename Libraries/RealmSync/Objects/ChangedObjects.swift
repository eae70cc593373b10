import DocumentModel

/// The objects that changesets change, one after the other.
package struct ChangedObjects: Sendable {
    package private(set) var keys: Set<ObjectKey> = []
    /// Those that are created before anything else is done to them.
    package private(set) var created: Set<ObjectKey> = []

    package init() {}

    /// Takes the next changeset.
    /// - Returns: the objects that it changes.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8, and keys that no object has.
    @discardableResult
    package mutating func take(_ changeset: Changeset) throws(ApplyError) -> Set<ObjectKey> {
        let texts = ChangesetTexts(changeset.strings)
        var changed: Set<ObjectKey> = []
        for instruction in changeset.instructions {
            switch instruction {
            case .createObject(let table, let key):
                let key = try texts.key(table, key)
                changed.insert(key)
                if keys.insert(key).inserted { created.insert(key) }
            case .eraseObject(let table, let key):
                let key = try texts.key(table, key)
                changed.insert(key)
                keys.insert(key)
            case .edit(let path, _):
                let key = try texts.key(path.table, path.key)
                if changed.insert(key).inserted { keys.insert(key) }
            case .addTable, .eraseTable, .addColumn, .eraseColumn: break
            }
        }
        return changed
    }
}

package import DocumentModel

/// The objects that changesets change, one after the other.
package struct ChangedObjects: Sendable {
    package private(set) var keys: Set<ObjectKey> = []
    /// Those that are created before anything else is done to them.
    package private(set) var created: Set<ObjectKey> = []

    package init() {}

    /// Takes the next changeset.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8, and keys that no object has.
    package mutating func take(_ changeset: Changeset) throws(ApplyError) {
        let texts = ChangesetTexts(changeset.strings)
        for instruction in changeset.instructions {
            switch instruction {
            case .createObject(let table, let key):
                let key = try texts.key(table, key)
                if keys.insert(key).inserted { created.insert(key) }
            case .eraseObject(let table, let key): keys.insert(try texts.key(table, key))
            case .edit(let path, _): keys.insert(try texts.key(path.table, path.key))
            case .addTable, .eraseTable, .addColumn, .eraseColumn: break
            }
        }
    }
}

public import DocumentModel

extension Changeset {
    /// The objects that the changeset creates, changes or erases.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8, and keys that no object has.
    public func objects() throws(ApplyError) -> Set<ObjectKey> {
        var changed = ChangedObjects()
        return try changed.take(self)
    }

    /// The objects that the changeset changes, if it changes nothing else; `nil` if it changes classes, or something in it has no name or key
    /// of an object.
    var changedObjects: Set<ObjectKey>? { changesClasses ? nil : try? objects() }

    /// Whether it adds or erases classes or properties.
    private var changesClasses: Bool {
        instructions.contains {
            switch $0 {
            case .addTable, .eraseTable, .addColumn, .eraseColumn: true
            case .createObject, .eraseObject, .edit: false
            }
        }
    }

    /// The first class of asymmetric objects that it adds, which only leave a client; `nil` if there is none.
    public var asymmetricClass: ExactText? {
        for case .addTable(let name, .asymmetric) in instructions {
            return (try? ChangesetTexts(strings).name(name)) ?? "a class without a name"
        }
        return nil
    }

    /// Whether it erases classes or properties.
    public var erasesSchema: Bool {
        instructions.contains {
            switch $0 {
            case .eraseTable, .eraseColumn: true
            default: false
            }
        }
    }
}

public import DocumentModel

extension TriggerDefinition {
    /// Whether the trigger goes on where it was in a former version of the app: it was enabled there, as it is here, and for the same events.
    /// - Parameter former: the trigger of the same name there; `nil` if there was none.
    public func continues(_ former: Self?) -> Bool {
        guard let former else { return false }
        return !isDisabled && !former.isDisabled && hasSameEvents(as: former)
    }

    /// Whether another version of the trigger is for events of the same collection or database, of the same kind, or at the same times.
    private func hasSameEvents(as other: Self) -> Bool {
        switch (event, other.event) {
        case (.database(let mine), .database(let others)):
            mine.database.hasSameBytes(as: others.database)
                && mine.collection.map { ExactText($0) } == others.collection.map { ExactText($0) }
        case (.authentication(let mine), .authentication(let others)): mine.operation == others.operation
        case (.schedule(let mine), .schedule(let others)): mine.cron == others.cron
        default: false
        }
    }
}

extension TriggerDefinition.Database {
    /// Whether the trigger runs for a change, unless its `match` excludes it.
    public func concerns(_ change: ChangeEvent) -> Bool {
        // The deletion of a moved document from its old partition is not an event of its own: the insertion has `movedFrom`.
        if change.operationType == .delete, change.movedFrom != nil { return false }
        // Imported changes happened elsewhere and long ago.
        if change.origin == .dump { return false }
        // Present values that a device wrote again: MongoDB has no event for that.
        if change.operationType == .update, change.movedFrom == nil, change.updateDescription?.isEmpty == true {
            return false
        }
        return operationTypes.contains(change.operationType) && isOn(change.namespace)
    }

    /// Whether the trigger is on a collection, or on the whole database that has it.
    public func isOn(_ namespace: ChangeEvent.Namespace) -> Bool {
        namespace.database.hasSameBytes(as: database) && (collection.map(namespace.collection.hasSameBytes) ?? true)
    }
}

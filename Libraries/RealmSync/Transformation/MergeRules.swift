/// The rules for two instructions of different sides, both of which they may change or discard.
enum MergeRules {
    /// Where an instruction has to be inserted that erases a column, which links to a table that the other side erases.
    enum Insertion { case none, beforeFirst, beforeSecond }

    /// Merges two instructions: first the rule of the one that is less deep, for what is inside of its place, then the rule for both.
    static func merge(_ a: inout MergeNode, _ b: inout MergeNode) throws(TransformError) -> Insertion {
        let (levelOfA, levelOfB) = (a.level, b.level)
        if levelOfA < levelOfB { try nest(a: &a, inner: &b) } else if levelOfB < levelOfA { try nest(a: &b, inner: &a) }
        guard !a.isDiscarded, !b.isDiscarded else { return .none }
        switch (a.action, b.action) {
        case (.edit(let first), .edit(let second)):
            guard levelOfA == levelOfB, a.hasSameField(as: b) else { return .none }
            if rank(first) <= rank(second) {
                try mergeEdits(&a, &b, first, second)
            } else {
                try mergeEdits(&b, &a, second, first)
            }
            return .none
        case (.addTable, .addTable), (.addTable, .eraseTable), (.eraseTable, .eraseTable), (.eraseTable, .addColumn),
            (.addColumn, .addColumn), (.addColumn, .eraseColumn), (.eraseColumn, .eraseColumn), (.eraseColumn, .edit),
            (.createObject, .eraseObject), (.eraseObject, .eraseObject):
            return try mergeDefinitions(&a, &b) ? .beforeFirst : .none
        case (.eraseTable, .addTable), (.addColumn, .eraseTable), (.eraseColumn, .addColumn), (.edit, .eraseColumn),
            (.eraseObject, .createObject):
            return try mergeDefinitions(&b, &a) ? .beforeSecond : .none
        default: return .none
        }
    }

    /// The order in which the rules name two edits.
    private static func rank(_ edit: Edit) -> Int {
        switch edit {
        case .update, .updateElement: 0
        case .addInteger: 1
        case .arrayInsert: 2
        case .arrayMove: 3
        case .arrayErase: 4
        case .clear: 5
        case .setInsert: 6
        case .setErase: 7
        }
    }

    private static func mergeEdits(
        _ a: inout MergeNode, _ b: inout MergeNode, _ first: Edit, _ second: Edit
    ) throws(TransformError) {
        switch (first, second) {
        case (.arrayInsert, .arrayInsert), (.arrayInsert, .arrayMove), (.arrayInsert, .arrayErase),
            (.arrayMove, .arrayMove), (.arrayMove, .arrayErase), (.arrayErase, .arrayErase),
            (.update, .arrayInsert), (.update, .arrayMove), (.update, .arrayErase),
            (.updateElement, .arrayInsert), (.updateElement, .arrayMove), (.updateElement, .arrayErase):
            guard a.hasSameContainer(as: b) else { return }
            try mergeLists(&a, &b, first, second)
        case (.setInsert, .setInsert), (.setInsert, .setErase), (.setErase, .setErase):
            guard a.path == b.path else { return }
            mergeSets(&a, &b, first, second)
        default:
            guard a.path == b.path else { return }
            try mergeValues(&a, &b, first, second)
        }
    }

    /// Discards the earlier one.
    static func discardEarlier(_ a: inout MergeNode, _ b: inout MergeNode) {
        if a.isLater(than: b) { b.isDiscarded = true } else { a.isDiscarded = true }
    }
}

import DocumentModel

/// Additions to numbers that a merge has dropped because another writer gave the numbers new values later.
///
/// Between clients that is realm-core's rule. But a server that only sees documents can't tell an increment from a new value: if a trigger and
/// a client count in the same field, the client's increments would be lost. So a service adds them once more, as a change of its own.
public struct LostAdditions: Sendable {
    /// Where the uploader itself has given numbers new values, or what they are in: additions before that don't count any more.
    private struct Overwritten {
        private(set) var edits = 0
        private var places: [ValuePlace: Int] = [:]
        private var objects: [ObjectKey: Int] = [:]

        /// Takes a changeset, and returns its additions that count after it.
        /// - Throws: ``ApplyError`` for names that aren't UTF-8.
        mutating func take(_ changeset: Changeset) throws(ApplyError) -> [ValuePlace: Int64] {
            let texts = ChangesetTexts(changeset.strings)
            var additions: [(place: ValuePlace, number: Int64, edit: Int)] = []
            for instruction in changeset.instructions {
                edits += 1
                switch instruction {
                case .eraseObject(let table, let key): objects[try texts.key(table, key)] = edits
                case .edit(let path, .addInteger(let number)):
                    additions.append((try ValuePlace(path, texts), number, edits))
                case .edit(let path, let edit):
                    let place = try ValuePlace(path, texts)
                    switch edit {
                    case .update, .updateElement, .clear: places[place] = edits
                    // An index may stand for another element then.
                    default: if edit.shiftsElements(at: path) { places[place.prefix(path.elements.count - 1)] = edits }
                    }
                case .createObject, .addTable, .eraseTable, .addColumn, .eraseColumn: break
                }
            }
            return additions.reduce(into: [:]) { sums, addition in
                if !covers(addition.place, after: addition.edit) {
                    sums[addition.place, default: 0] &+= addition.number
                }
            }
        }

        /// Whether a number got a new value after an edit.
        func covers(_ place: ValuePlace, after edit: Int) -> Bool {
            objects[place.property.key, default: 0] > edit
                || (0...place.steps.count).contains { places[place.prefix($0), default: 0] > edit }
        }
    }

    private var overwritten = Overwritten()
    /// What was dropped, and after which of the uploader's edits.
    private var lost: [(place: ValuePlace, number: Int64, edit: Int)] = []

    public init() {}

    /// Whether the merges have dropped no additions.
    public var isEmpty: Bool { lost.isEmpty }

    /// Takes what a client has uploaded, and what the merge has left of it: the next changeset of an upload.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8.
    public mutating func take(_ uploaded: Changeset, merged: Changeset) throws(ApplyError) {
        let additions = try overwritten.take(uploaded)
        if additions.isEmpty { return }
        var remaining = Overwritten()
        let left = try remaining.take(merged)
        for (place, number) in additions {
            let missing = number &- left[place, default: 0]
            if missing != 0 { lost.append((place, missing, overwritten.edits)) }
        }
    }

    /// What adds those once more of which the server has given the numbers new values, a changeset for each number.
    /// - Parameter others: What the server has done since the uploads' base.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8.
    public func changesets(after others: [Changeset]) throws(ApplyError) -> [Changeset] {
        var values: Set<ValuePlace> = []
        // Where the places of elements have changed: an index may stand for another element then.
        var lists: Set<ValuePlace.Property> = []
        for changeset in others {
            let texts = ChangesetTexts(changeset.strings)
            for case .edit(let path, let edit) in changeset.instructions {
                let place = try ValuePlace(path, texts)
                switch edit {
                case .update, .updateElement: values.insert(place)
                case .arrayInsert, .arrayMove, .arrayErase, .clear: lists.insert(place.property)
                case .addInteger, .setInsert, .setErase: break
                }
            }
        }
        var sums: [ValuePlace: Int64] = [:]
        for (place, number, edit) in lost where !overwritten.covers(place, after: edit) {
            sums[place, default: 0] &+= number
        }
        return sums.compactMap { place, number in
            guard number != 0, values.contains(place), !(place.hasIndex && lists.contains(place.property)) else {
                return nil
            }
            return Self.addition(number, to: place)
        }
    }

    private static func addition(_ number: Int64, to place: ValuePlace) -> Changeset {
        var builder = ChangesetBuilder()
        let path = place.path(in: &builder)
        builder.append(.edit(path, .addInteger(number)))
        return builder.changeset
    }
}

import DocumentModel

/// Additions to numbers that a merge has dropped because another writer gave the numbers new values later.
///
/// Between clients that is realm-core's rule. But a server that only sees documents can't tell an increment from a new value: if a trigger and
/// a client count in the same field, the client's increments would be lost. So a service adds them once more, as a change of its own.
public struct LostAdditions: Sendable {
    private var lost: [ValuePlace: Int64] = [:]

    public init() {}

    /// Whether the merges have dropped no additions.
    public var isEmpty: Bool { lost.isEmpty }

    /// Takes what a client has uploaded, and what the merge has left of it.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8.
    public mutating func take(_ uploaded: Changeset, merged: Changeset) throws(ApplyError) {
        let additions = try Self.additions(of: uploaded)
        if additions.isEmpty { return }
        let left = try Self.additions(of: merged)
        for (place, number) in additions {
            let missing = number &- left[place, default: 0]
            if missing != 0 { lost[place, default: 0] &+= missing }
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
        return lost.compactMap { place, number in
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

    private static func additions(of changeset: Changeset) throws(ApplyError) -> [ValuePlace: Int64] {
        let texts = ChangesetTexts(changeset.strings)
        var additions: [ValuePlace: Int64] = [:]
        for case .edit(let path, .addInteger(let number)) in changeset.instructions {
            additions[try ValuePlace(path, texts), default: 0] &+= number
        }
        return additions
    }
}

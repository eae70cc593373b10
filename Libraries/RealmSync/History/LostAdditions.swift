public import DocumentModel

/// Additions to numbers that a merge has dropped because another writer gave the numbers new values later.
///
/// Between clients that is realm-core's rule. But a server that only sees documents can't tell an increment from a new value: if a trigger and
/// a client count in the same field, the client's increments would be lost. So a service adds them once more, as a change of its own.
public struct LostAdditions: Sendable {
    /// A number in an object.
    private struct Place: Hashable {
        let key: ObjectKey
        let field: ExactText
        let steps: [Step]

        var hasIndex: Bool { steps.contains { if case .index = $0 { true } else { false } } }
    }

    private enum Step: Hashable {
        case index(UInt32)
        case key(ExactText)
    }

    private struct Property: Hashable {
        let key: ObjectKey
        let field: ExactText
    }

    /// What others have given new values.
    private var values: Set<Place> = []
    /// Where others have changed the places of elements.
    private var lists: Set<Property> = []
    private var lost: [Place: Int64] = [:]

    /// - Parameter others: What the server has done since the uploads' base.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8.
    public init(to others: [Changeset]) throws(ApplyError) {
        for changeset in others {
            for case .edit(let path, let edit) in changeset.instructions {
                let place = try Self.place(path, ChangesetTexts(changeset.strings))
                switch edit {
                case .update, .updateElement: values.insert(place)
                case .arrayInsert, .arrayMove, .arrayErase, .clear:
                    lists.insert(Property(key: place.key, field: place.field))
                case .addInteger, .setInsert, .setErase: break
                }
            }
        }
    }

    /// Takes what a client has uploaded, and what the merge has left of it.
    public mutating func take(_ uploaded: Changeset, merged: Changeset) throws(ApplyError) {
        if values.isEmpty { return }
        let left = try Self.additions(of: merged)
        for (place, number) in try Self.additions(of: uploaded) where values.contains(place) {
            // An index may stand for another element then.
            if place.hasIndex, lists.contains(Property(key: place.key, field: place.field)) { continue }
            let missing = number &- left[place, default: 0]
            if missing != 0 { lost[place, default: 0] &+= missing }
        }
    }

    /// What adds them once more, a changeset for each number.
    public var changesets: [Changeset] {
        lost.filter { $0.value != 0 }.map { place, number in
            var builder = ChangesetBuilder()
            var path = builder.path(place.key, place.field.text)
            path.elements = place.steps.map {
                switch $0 {
                case .index(let index): .index(index)
                case .key(let name): .key(builder.name(name.text))
                }
            }
            builder.append(.edit(path, .addInteger(number)))
            return builder.changeset
        }
    }

    private static func additions(of changeset: Changeset) throws(ApplyError) -> [Place: Int64] {
        var additions: [Place: Int64] = [:]
        for case .edit(let path, .addInteger(let number)) in changeset.instructions {
            additions[try place(path, ChangesetTexts(changeset.strings)), default: 0] &+= number
        }
        return additions
    }

    private static func place(_ path: Path, _ texts: ChangesetTexts) throws(ApplyError) -> Place {
        var steps: [Step] = []
        for element in path.elements {
            switch element {
            case .index(let index): steps.append(.index(index))
            case .key(let name): steps.append(.key(try texts.name(name)))
            }
        }
        return Place(key: try texts.key(path.table, path.key), field: try texts.name(path.field), steps: steps)
    }
}

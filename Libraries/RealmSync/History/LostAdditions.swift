import DocumentModel

/// Additions to numbers that a merge has dropped because another writer gave the numbers new values later.
///
/// Between clients that is realm-core's rule. But a server that only sees documents can't tell an increment from a new value: if a trigger and
/// a client count in the same field, the client's increments would be lost. So a service adds them once more, as a change of its own.
public struct LostAdditions: Sendable {
    /// A number in an object.
    private struct Place: Hashable {
        let property: Property
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

    private var lost: [Place: Int64] = [:]

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
        var values: Set<Place> = []
        // Where the places of elements have changed: an index may stand for another element then.
        var lists: Set<Property> = []
        for changeset in others {
            for case .edit(let path, let edit) in changeset.instructions {
                let place = try Self.place(path, ChangesetTexts(changeset.strings))
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

    private static func addition(_ number: Int64, to place: Place) -> Changeset {
        var builder = ChangesetBuilder()
        var path = builder.path(place.property.key, place.property.field.text)
        path.elements = place.steps.map {
            switch $0 {
            case .index(let index): .index(index)
            case .key(let name): .key(builder.name(name.text))
            }
        }
        builder.append(.edit(path, .addInteger(number)))
        return builder.changeset
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
        let property = Property(key: try texts.key(path.table, path.key), field: try texts.name(path.field))
        return Place(property: property, steps: steps)
    }
}

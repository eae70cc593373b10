import DocumentModel

/// Dates with parts of a millisecond that clients have inserted into sets, or erased there.
///
/// Documents have milliseconds, and so have clients that begin later; those who got the insertion have the date as it is. To them
/// it is another element: what others erase would stay. So a change of the server follows, after which all have the same.
struct ExactDates {
    private struct Element: Hashable {
        let set: ValuePlace
        let date: RealmTimestamp
    }

    private var elements: [Element] = []
    private var known: Set<Element> = []

    /// Takes a changeset.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8, and keys that no object has.
    mutating func take(_ changeset: Changeset) throws(ApplyError) {
        let texts = ChangesetTexts(changeset.strings)
        for case .edit(let path, let edit) in changeset.instructions {
            switch edit {
            case .setInsert(.timestamp(let date)), .setErase(.timestamp(let date)):
                guard date != RealmTimestamp(milliseconds: date.milliseconds) else { continue }
                let element = Element(set: try ValuePlace(path, texts), date: date)
                if known.insert(element).inserted { elements.append(element) }
            default: break
            }
        }
    }

    /// What makes the sets of all who have these objects the same. It changes nothing in milliseconds.
    func settling(_ objects: [ObjectKey: Document]) -> Changeset? {
        var builder = ChangesetBuilder()
        for element in elements {
            // The set may be gone.
            guard let value = element.set.value(in: objects) else { continue }
            let date = RealmTimestamp(milliseconds: element.date.milliseconds)
            let isThere = value.arrayValue?.contains { $0.isIdentical(to: .date(date.milliseconds)) } ?? false
            let path = element.set.path(in: &builder)
            builder.append(.edit(path, .setErase(.timestamp(element.date))))
            builder.append(.edit(path, isThere ? .setInsert(.timestamp(date)) : .setErase(.timestamp(date))))
        }
        return builder.changeset.instructions.isEmpty ? nil : builder.changeset
    }
}

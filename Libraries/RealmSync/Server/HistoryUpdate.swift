import DocumentModel

/// What becomes of a history when its app was deployed anew. What the app doesn't have any more stays, but for the objects of collections that
/// don't sync any more; what it has differently ends the history, and clients begin anew.
package struct HistoryUpdate: Sendable {
    package let addition: HistoryAddition
    /// What the history is then.
    package let standing: HistoryStanding

    /// - Parameters:
    ///   - known: The classes of the history.
    ///   - version: That of the app.
    ///   - classes: Those of the app.
    ///   - collections: As in ``HistoryStanding``.
    ///   - now: Milliseconds since 2015.
    package init(
        of former: HistoryStanding, with known: ObjectSchema, to version: Int64, _ classes: ObjectSchema,
        collections: String, at now: Int64
    ) {
        var next = former
        next.appVersion = version
        if !former.collections.hasSameBytes(as: collections) {
            next.collections = collections
            // What was done to their documents before may be in no history: all that there is is compared.
            next.revision = HistoryStanding.empty.revision
        }
        if former.version > 0, known.includes(classes) {
            addition = HistoryAddition(absorbed: next)
            standing = next
            return
        }
        let joined = known.joined(with: classes)
        let changeset = (joined ?? classes).changeset()
        next.schema = changeset.encoded()
        next.version += 1
        next.salt = HistoryEntry.salt()
        if known.classes.contains(where: { name, type in
            classes.classes[name]?.properties.contains { type.properties[$0.key] == nil } ?? false
        }) {
            // Documents may have had fields of a new property before.
            next.revision = HistoryStanding.empty.revision
        }
        if joined == nil {
            next.revision = HistoryStanding.empty.revision
            // A version that no client has.
            next.base = former.version + 1
            next.version = next.base + 1
        }
        var entry = HistoryEntry(changeset, version: next.version, time: now)
        entry.salt = next.salt
        addition = HistoryAddition(isReset: joined == nil, entries: [entry], absorbed: next)
        standing = next
    }
}

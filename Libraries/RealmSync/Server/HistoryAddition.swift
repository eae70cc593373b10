package import DocumentModel

/// What a transaction adds to a partition's history.
package struct HistoryAddition: Sendable {
    /// Whether what there was is removed first, with the clients' files. The numbers go on.
    package var isReset = false
    package var entries: [HistoryEntry] = []
    /// Objects as they are then; `nil` for those that are gone.
    package var objects: [ObjectKey: Document?] = [:]
    package var files: [FileChange] = []
    /// What the history is then; `nil` if it has taken in no more changes of documents, and has the same classes.
    package var absorbed: HistoryStanding?
    /// What the transaction writes to documents, if it does.
    package var writes: Writes?

    package init(isReset: Bool = false, entries: [HistoryEntry] = [], absorbed: HistoryStanding? = nil) {
        self.isReset = isReset
        self.entries = entries
        self.absorbed = absorbed
    }

    /// What others have done to documents.
    /// - Parameters:
    ///   - changes: What the objects are that belong to the documents; `nil` for those that are gone.
    ///   - objects: These objects as the history has them.
    ///   - standing: What the history is then, but for its version.
    ///   - time: When it is appended, in milliseconds since 2015.
    package init(
        absorbing changes: [(key: ObjectKey, object: Document?)], into objects: PartitionObjects,
        _ standing: HistoryStanding, at time: Int64
    ) {
        var objects = objects, standing = standing
        let changeset = objects.change(changes)
        if !changeset.instructions.isEmpty {
            standing.version += 1
            let entry = HistoryEntry(changeset, version: standing.version, time: time)
            standing.salt = entry.salt
            entries = [entry]
            for (key, object) in changes { self.objects[key] = .some(object) }
        }
        absorbed = standing
    }

    /// What becomes of a client file.
    package struct FileChange: Sendable {
        /// The file as it is then.
        package let file: ClientFile
        /// The client version that it must still have.
        package let formerClientVersion: Int64
        /// New forms of entries, as the client has them.
        package let reciprocals: [UInt64: [UInt8]]
        /// All of them.
        let forms: EntryForms
    }

    /// Writes of documents as they are in the history then.
    package struct Writes: Sendable {
        /// Who must be allowed to write.
        package let users: [String]
        /// The documents that are written: their collections and keys.
        package let collections: [String]
        package let ids: [String]
        /// The revision up to which the history had the changes of documents. If nobody else has changed any since, it has these, too.
        package let since: Revision

        package init(users: [String], collections: [String], ids: [String], since: Revision) {
            self.users = users
            self.collections = collections
            self.ids = ids
            self.since = since
        }
    }
}

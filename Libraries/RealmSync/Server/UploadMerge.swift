import DocumentModel

/// The merge of an upload with what others have done since the state on which its client was.
package struct UploadMerge: Sendable {
    package let upload: RealmUpload
    let file: ClientFile
    /// What is done before it in the same transaction.
    let planned: PlannedUploads
    /// What the history doesn't have yet.
    let changesets: [UploadedChangeset]
    /// The version of the history after which ``merge(_:reciprocals:)`` needs all entries; `nil` if there is nothing to merge.
    package let base: Int64?
    /// What the merge has made of the changesets, each with the objects that it changes.
    private(set) var merged: [(entry: ServerHistory.Entry, changeset: Changeset, keys: Set<ObjectKey>)] = []
    /// What it has dropped of the client's additions to numbers and what is added once more.
    private(set) var additions: [(changeset: Changeset, keys: Set<ObjectKey>)] = []
    /// The objects of each changeset of which the merge has left nothing, because somebody has written documents meanwhile; empty if nobody
    /// has.
    private(set) var dropped: [Set<ObjectKey>] = []
    /// New forms of the history's entries, as the client has them.
    private(set) var reciprocals: [UInt64: [UInt8]] = [:]
    /// All forms of entries after ``base`` that the client has, and these entries.
    private(set) var forms: (all: [UInt64: [UInt8]], entries: [HistoryEntry]) = ([:], [])

    /// - Parameters:
    ///   - file: The client's file as the history has it.
    ///   - planned: What is done before it in the same transaction.
    /// - Throws: ``RealmRefusal`` if the client was on a state that is no state of the history, or no longer.
    package init(_ upload: RealmUpload, of file: ClientFile, after planned: PlannedUploads) throws(RealmRefusal) {
        let standing = planned.standing
        // A restored database may have given the number to another client.
        guard file.salt == upload.salt else {
            throw .reset(.badClientFileIdent, "the server doesn't know the client's file")
        }
        // If the database was restored, the client has to upload again what that has lost: after the session's end it does.
        guard file.clientVersion >= upload.former else { throw .busy }
        self.upload = upload
        self.file = file
        self.planned = planned
        changesets = upload.changesets.filter { $0.clientVersion > UInt64(file.clientVersion) }.map { changeset in
            var changeset = changeset
            // A new client has no version of the history yet.
            if changeset.serverVersion == 0 { changeset.serverVersion = UInt64(file.beginning(of: standing)) }
            return changeset
        }
        guard let base = changesets.map(\.serverVersion).min() else {
            self.base = nil
            return
        }
        guard base <= UInt64(standing.version), base >= UInt64(file.base),
            file.canContinue(after: Int64(clamping: base), in: standing)
        else {
            throw .reset(.badServerVersion, "the history has no version \(base), or no longer")
        }
        self.base = Int64(base)
    }

    /// Merges.
    /// - Parameters:
    ///   - part: All entries after ``base``, up to the version on which the transaction is based.
    ///   - known: The forms in which the client has them, if those differ.
    /// - Throws: ``RealmRefusal``; ``HistoryError`` if the history is damaged.
    package mutating func merge(_ part: HistoryPart, reciprocals known: [UInt64: [UInt8]]) throws {
        guard let base else { return }
        let standing = planned.standing, number = file.number, stored = part.entries
        guard stored.last?.version ?? base == standing.version, stored.last?.salt ?? standing.salt == standing.salt
        else { throw RealmRefusal.busy }
        guard stored.count == Int(standing.version - base) else {
            throw RealmRefusal.reset(.badServerVersion, "the history doesn't reach back to version \(base) any more")
        }
        // Another gateway has integrated more of what the client has uploaded: there are other forms of the entries then.
        guard stored.last(where: { $0.file == number }).map({ $0.clientVersion <= file.clientVersion }) ?? true else {
            throw RealmRefusal.busy
        }
        if let salt = upload.position.salt {
            let place = Int(upload.position.version - base) - 1
            guard place < stored.count, salt == (place < 0 ? part.previous : stored[place].salt) else {
                throw RealmRefusal.anotherHistory
            }
        }
        let entries = stored + planned.entries
        var window = ServerHistory(
            baseVersion: UInt64(base), entries: entries.map { $0.seen(by: number) }, client: UInt64(number),
            clientVersion: UInt64(file.clientVersion), acknowledged: UInt64(file.base), reciprocal: known)
        let appended: ArraySlice<ServerHistory.Entry>
        do {
            appended = try window.integrate(changesets, from: UInt64(number))
        } catch {
            throw error.refusal
        }
        forms = (window.reciprocal(of: UInt64(number)), entries)
        reciprocals = forms.all.filter { known[$0.key] != $0.value }
        let decoded = try appended.map { try Changeset($0.bytes, limits: .none) }
        do {
            merged = try zip(appended, decoded).map { ($0, $1, try $0.objects ?? $1.objects()) }
            if entries.contains(where: { $0.file == 1 && !$0.seen(by: number).bytes.isEmpty }) {
                dropped = try zip(changesets, merged).map { try Changeset($0.bytes).objects().subtracting($1.keys) }
                additions = try lostAdditions(to: entries).map { ($0, try $0.objects()) }
            }
        } catch {
            throw RealmRefusal.reset(.badChangeset, "\(error)")
        }
    }

    /// The objects that it changes.
    var keys: Set<ObjectKey> {
        (merged.map(\.keys) + additions.map(\.keys)).reduce(into: []) { $0.formUnion($1) }
    }

    /// The objects that have to be read, as they are at the version on which the transaction is based.
    package var needed: Set<ObjectKey> { keys.filter { $0.isStorable && planned.objects[$0] == nil } }

    /// The objects of which the merge has left nothing in some changeset. Their documents may be there, and not fit their classes.
    package var lost: Set<ObjectKey> { dropped.reduce(into: []) { $0.formUnion($1) } }

    /// Those of ``needed`` that the upload creates first. They may be taken for new without a look (see ``UploadPlan/assumed``).
    package var created: Set<ObjectKey> {
        get throws(ApplyError) {
            var changed = ChangedObjects()
            for one in merged { try changed.take(one.changeset) }
            return changed.created.filter { $0.isStorable && planned.objects[$0] == nil }
        }
    }

    /// What the merge has dropped of the client's additions to numbers, because somebody has written the documents meanwhile.
    private func lostAdditions(to entries: [HistoryEntry]) throws -> [Changeset] {
        let others = entries.filter { $0.file == 1 && !$0.seen(by: file.number).bytes.isEmpty }
        var lost = LostAdditions()
        for (upload, merged) in zip(changesets, merged) {
            try lost.take(try Changeset(upload.bytes), merged: merged.changeset)
        }
        if lost.isEmpty { return [] }
        return try lost.changesets(after: try others.map { try Changeset($0.bytes, limits: .none) })
    }
}

extension HistoryError {
    fileprivate var refusal: any Error {
        switch self {
        case .badServerVersion: RealmRefusal.reset(.badServerVersion, description)
        case .badClientVersion: RealmRefusal.reset(.badClientVersion, description)
        case .badOriginFileIdent: RealmRefusal.reset(.badOriginFileIdent, description)
        case .unreadable, .contradictory: RealmRefusal.reset(.badChangeset, description)
        case .damagedHistory: self
        }
    }
}

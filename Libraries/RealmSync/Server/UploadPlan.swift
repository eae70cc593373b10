package import DocumentModel

/// What an upload of a Realm client does to the history and to documents, before it is done.
package struct UploadPlan: Sendable {
    /// The version of the history on which it is based.
    let formerVersion: Int64
    let user: String
    private(set) var file: ClientFile
    private(set) var entries: [HistoryEntry] = []
    /// The objects that it changes: as they were, and as they become.
    private(set) var objects: [ObjectKey: (former: Document?, object: Document?)] = [:]
    /// The objects that are new only by assumption. If each is inserted by the transaction, this fails if one isn't.
    let assumed: Set<ObjectKey>
    private let formerClientVersion: Int64
    /// Where its changesets move elements of collections.
    private(set) var moved = MovedElements()
    /// The dates of sets that need settling: those of writes that count, and of those that are refused.
    private var dates: (accepted: ExactDates, refused: ExactDates) = (ExactDates(), ExactDates())
    /// New forms of the history's entries, as the client has them.
    private let reciprocals: [UInt64: [UInt8]]
    private let forms: (base: Int64, all: [UInt64: [UInt8]], entries: [HistoryEntry])
    private var refused: [SessionError.CompensatingWrite] = []
    /// The time that the merge and its application took.
    package var work = Duration.zero

    private let schema: ObjectSchema
    private let target: UploadTarget
    /// The objects as the client has them, and as they are without the writes that are refused.
    private var seen: PartitionObjects
    private var truth: PartitionObjects
    private var refusedKeys: Set<ObjectKey> = []

    /// - Parameters:
    ///   - merge: The upload, merged.
    ///   - stored: The objects that the merge needs.
    ///   - assumed: Those that were not looked for.
    ///   - schema: The classes of the history.
    ///   - target: Where the documents are.
    ///   - unfit: Why documents of ``UploadMerge/lost`` objects don't fit their classes: to clients they are as if they were deleted,
    ///     but they aren't, so that a client is told which of its writes are lost.
    ///   - refusal: Why all changesets are refused; `nil` if they aren't.
    ///   - now: Milliseconds since 2015.
    /// - Throws: ``RealmRefusal``.
    package init(
        _ merge: UploadMerge, to stored: [ObjectKey: Document], assuming assumed: Set<ObjectKey> = [],
        _ schema: ObjectSchema, _ target: UploadTarget, unfit: [ObjectKey: String], refusal: String?,
        at now: Int64
    ) throws {
        let keys = merge.keys
        formerVersion = merge.planned.version
        self.assumed = assumed
        user = merge.upload.user
        file = merge.file
        formerClientVersion = merge.file.clientVersion
        reciprocals = merge.reciprocals
        forms = (merge.base ?? 0, merge.forms.all, merge.forms.entries)
        self.schema = schema
        self.target = target
        var stored = stored
        for key in keys { if let change = merge.planned.objects[key] { stored[key] = change.object } }
        seen = PartitionObjects(schema: schema, objects: stored)
        truth = seen
        for (place, (entry, changeset, keys)) in merge.merged.enumerated() {
            // A write of which others have left nothing is refused, too, or its client wouldn't be told.
            let isLost = refusal != nil && keys.isEmpty
            let lost = merge.dropped.isEmpty || isLost ? [] : merge.dropped[place]
            try add(
                entry, changeset, isLost ? try Self.objects(of: merge.changesets[place]) : keys,
                unfit: unfit.filter { lost.contains($0.key) }, refusal)
        }
        try requireClasses(of: merge.changesets, keys)
        if let last = entries.indices.last {
            file.uploaded = entries[last].version
            entries[last].acknowledges = merge.upload.scanned
        }
        try undoRefused(at: now)
        setPartitionKeys(of: keys, at: now)
        if let settling = dates.accepted.settling(truth.objects) { append(settling, at: now, for: nil) }
        for (changeset, key) in merge.additions where refusedKeys.isDisjoint(with: key) {
            addAgain(changeset, at: now)
        }
        for key in keys {
            let object = truth.objects[key], former = stored[key]
            let isSame = object.map { object in former.map { object.isIdentical(to: $0) } ?? false } ?? (former == nil)
            if !isSame { objects[key] = (former, object) }
        }
        guard let last = merge.changesets.last else { return }
        file.clientVersion = max(Int64(last.clientVersion), merge.upload.scanned)
        file.acknowledged = merge.upload.acknowledged
        file.uploadBase = max(file.uploadBase, Int64(last.serverVersion), merge.upload.reached)
    }

    /// The app has the classes and properties that the upload brings, or of which it changes objects.
    private func requireClasses(of uploads: [UploadedChangeset], _ keys: Set<ObjectKey>) throws {
        var missing = seen.schema.names(beyond: schema)
        guard target.isInDevelopment || !missing.isEmpty else { return }
        let tables = Set(keys.map { ExactText($0.table) })
        let brought = try uploads.reduce(into: DeclaredNames()) { try $0.take(Changeset($1.bytes)) }
        if target.isInDevelopment {
            // Those that the app had once, and that the client brings again.
            missing += brought.classes.union(tables).filter {
                seen.schema.classes[$0]?.key != nil && target.collections[$0] == nil
            }.sorted().map { "class \($0)" }
        }
        guard let first = missing.first else { return }
        throw RealmRefusal.lacking(
            seen.schema.part(brought, tables: tables), "the app's schema has no \(first.prefix(200))")
    }

    /// The objects that a client has changed, whatever others have left of that.
    private static func objects(of upload: UploadedChangeset) throws(RealmRefusal) -> Set<ObjectKey> {
        do {
            return try Changeset(upload.bytes).objects()
        } catch {
            throw .reset(.badChangeset, "\(error)")
        }
    }

    /// What becomes of the client's file.
    var fileChange: HistoryAddition.FileChange {
        HistoryAddition.FileChange(
            file: file, formerClientVersion: formerClientVersion, reciprocals: reciprocals,
            forms: EntryForms(of: file, after: forms.base, forms.all, forms.entries))
    }

    private var nextVersion: Int64 { (entries.last?.version ?? formerVersion) + 1 }

    private mutating func add(
        _ entry: ServerHistory.Entry, _ changeset: Changeset, _ keys: Set<ObjectKey>, unfit: [ObjectKey: String],
        _ given: String?
    ) throws {
        if changeset.erasesSchema { throw RealmRefusal.schema("classes and properties can't be erased") }
        if let name = changeset.asymmetricClass {
            throw RealmRefusal.schema("objects of \(name) aren't asymmetric here")
        }
        let impossible: String?
        do throws(ApplyError) {
            impossible = try changeset.unfit(in: schema)
            try seen.apply(changeset)
            try moved.take(changeset)
        } catch {
            if [.schemaConflict, .unknownProperty, .unknownTable].contains(error.code) {
                throw RealmRefusal.schema(error.message)
            }
            throw RealmRefusal.reset(.badChangeset, error.message)
        }
        let refusal = keys.isEmpty ? nil : given ?? impossible ?? apply(changeset, keys)
        // The client has done what is refused, too.
        if refusal == nil { try dates.accepted.take(changeset) } else { try dates.refused.take(changeset) }
        var appended = HistoryEntry(
            version: nextVersion, file: Int64(entry.fileIdent),
            clientVersion: Int64(entry.clientVersion), originTime: Int64(entry.originTimestamp),
            // The classes are in the history already.
            bytes: keys.isEmpty || refusal != nil ? [] : entry.bytes)
        appended.objects = entry.objects
        entries.append(appended)
        var rejected = unfit
        if let refusal { for key in keys { rejected[key] = refusal } }
        if rejected.isEmpty { return }
        refusedKeys.formUnion(rejected.keys)
        refused.append(
            .init(
                serverVersion: 0, rejectedClientVersion: entry.clientVersion,
                rejected: rejected.map { SessionError.RejectedObject(reason: $1, $0) }))
    }

    /// Applies a changeset to the objects that count.
    /// - Returns: why it is refused; `nil` if it isn't.
    private mutating func apply(_ changeset: Changeset, _ keys: Set<ObjectKey>) -> String? {
        var next = seen
        if !refusedKeys.isEmpty {
            next = truth
            do throws(ApplyError) {
                try next.apply(changeset)
            } catch {
                return "it depends on a write that was refused"
            }
        }
        for key in keys {
            guard target.collections[ExactText(key.table)] != nil else {
                return "objects of the class \(key.table) don't sync any more"
            }
            guard key.isStorable else { return "the primary key has a character U+0000" }
            guard target.admits(next.objects[key]) else { return "the object has the key of another partition" }
        }
        truth = next
        return nil
    }

    /// Appends what sets the partition key of objects that a client has made without it: their documents have it.
    private mutating func setPartitionKeys(of keys: Set<ObjectKey>, at time: Int64) {
        let changes = keys.compactMap { key -> (key: ObjectKey, object: Document?)? in
            guard let object = truth.objects[key], object[target.partitionKey] == nil else { return nil }
            return schema.object(object, of: key.table, setting: target.partitionKey, to: target.partition).map {
                (key, $0)
            }
        }
        if changes.isEmpty { return }
        append(truth.change(changes), at: time, for: nil)
    }

    /// Appends an addition to a number, unless there is no such number any more.
    private mutating func addAgain(_ changeset: Changeset, at time: Int64) {
        var next = truth
        do throws(ApplyError) { try next.apply(changeset) } catch { return }
        truth = next
        append(changeset, at: time, for: nil)
    }

    /// Appends a change of the server.
    /// - Parameter audience: The only client file that gets it; `nil` for all.
    private mutating func append(_ changeset: Changeset, at time: Int64, for audience: Int64?) {
        entries.append(HistoryEntry(changeset, version: nextVersion, time: time, audience: audience))
    }

    /// The most bytes, about, of objects that are sent to a client in one changeset because its writes of them are refused: as many as it may
    /// upload in one. A few bytes erase objects of any size.
    private static let undoingLimit = 16 << 20

    /// Appends what brings the client's objects back to what they are.
    private mutating func undoRefused(at time: Int64) throws(RealmRefusal) {
        if refusedKeys.isEmpty { return }
        let bytes = refusedKeys.reduce(0) { $0 + (truth.objects[$1]?.memory ?? 0) }
        guard bytes <= Self.undoingLimit else {
            throw .reset(
                .divergingHistories,
                "writes were refused, and the objects that would have to be sent again have more than \(Self.undoingLimit >> 20) MiB"
            )
        }
        if let settling = dates.refused.settling(seen.objects) { append(settling, at: time, for: file.number) }
        let version = nextVersion
        var client = seen
        let changeset = client.change(refusedKeys.map { ($0, truth.objects[$0]) })
        append(changeset, at: time, for: file.number)
        for index in refused.indices { refused[index].serverVersion = UInt64(version) }
        entries[entries.count - 1].refused = refused
    }
}

import DocumentModel
import DocumentStore
import Postgres
import RealmSync

/// What an upload of a Realm client does to the history and to documents, before it is done.
struct UploadPlan {
    /// The version of the history on which it is based.
    let formerVersion: Int64
    let user: String
    private(set) var file: RealmTables.File
    private(set) var entries: [RealmTables.Entry] = []
    /// The objects that it changes: as they were, and as they become.
    private(set) var objects: [ObjectKey: (former: Document?, object: Document?)] = [:]
    private let formerClientVersion: Int64
    /// New forms of the history's entries, as the client has them.
    private var reciprocals: [UInt64: [UInt8]] = [:]
    private(set) var refused: [SessionError.CompensatingWrite] = []
    /// The time that the merge and its application took.
    private(set) var work = Duration.zero

    private let schema: ObjectSchema
    private let target: RealmWrite.Target
    /// The objects as the client has them, and as they are without the writes that are refused.
    private var seen: PartitionObjects
    private var truth: PartitionObjects
    private var refusedKeys: Set<ObjectKey> = []

    /// - Parameters:
    ///   - planned: What is done before it in the same transaction.
    ///   - refusal: Why all changesets are refused; `nil` if they aren't.
    /// - Throws: ``RealmRefusal``; errors of Postgres.
    static func make(
        _ upload: RealmUpload, after planned: PlannedUploads, in history: RealmHistory, refusal: String?
    ) async throws -> UploadPlan {
        let tables = history.tables, key = history.key, standing = planned.standing, number = upload.file
        guard let deployed = history.classes.classes(of: key.app) else { throw RealmRefusal.notSynced }
        guard deployed.version == standing.appVersion else { throw RealmRefusal.busy }
        guard let file = try await history.file(number) else {
            throw RealmRefusal.reset(.badClientFileIdent, "the server doesn't know the client's file")
        }
        let schema = try history.schema(standing.schema)
        var plan = UploadPlan(
            formerVersion: planned.version, user: upload.user, file: file, formerClientVersion: file.clientVersion,
            schema: schema, target: RealmWrite.Target(deployed, key.partition), seen: PartitionObjects(schema: schema),
            truth: PartitionObjects(schema: schema))
        let known = upload.changesets.filter { $0.clientVersion > UInt64(file.clientVersion) }
        // A new client has no version of the history yet.
        let new = known.map { upload in
            var upload = upload
            if upload.serverVersion == 0 { upload.serverVersion = UInt64(file.beginning(of: standing)) }
            return upload
        }
        guard let base = new.map(\.serverVersion).min() else { return plan }
        guard base <= UInt64(standing.version), base >= UInt64(file.base),
            file.canContinue(after: Int64(clamping: base), in: standing)
        else {
            throw RealmRefusal.reset(.badServerVersion, "the history has no version \(base), or no longer")
        }
        // There are none of versions that don't exist yet.
        async let forms =
            base == UInt64(standing.version) ? [:] : tables.reciprocals(of: number, after: Int64(base), in: key)
        var entries = try await history.allEntries(after: Int64(base), upTo: standing.version, for: file)
        guard entries.last?.version ?? Int64(base) == standing.version else { throw RealmRefusal.busy }
        guard entries.count == Int(standing.version - Int64(base)) else {
            throw RealmRefusal.reset(.badServerVersion, "the history doesn't reach back to version \(base) any more")
        }
        entries += planned.entries
        let reciprocals = try await forms
        var window = ServerHistory(
            baseVersion: base, entries: entries.map { $0.seen(by: number) }, client: UInt64(number),
            clientVersion: UInt64(file.clientVersion), acknowledged: UInt64(file.base), reciprocal: reciprocals)
        let begin = ContinuousClock.now
        let merged: ArraySlice<ServerHistory.Entry>
        do {
            merged = try window.integrate(new, from: UInt64(number))
        } catch {
            throw error.refusal
        }
        plan.reciprocals = window.reciprocal(of: UInt64(number)).filter { reciprocals[$0.key] != $0.value }
        let changesets = try merged.map { entry in
            try RealmSync.Changeset(entry.bytes, limits: .none)
        }
        let keys: [Set<ObjectKey>]
        do {
            keys = try changesets.map { try $0.objects() }
        } catch {
            throw RealmRefusal.reset(.badChangeset, "\(error)")
        }
        let additions: [(changeset: RealmSync.Changeset, key: Set<ObjectKey>)]
        do {
            additions = try Self.lostAdditions(of: new, merged: changesets, to: entries, for: number).map {
                ($0, try $0.objects())
            }
        } catch {
            throw RealmRefusal.reset(.badChangeset, "\(error)")
        }
        plan.work = ContinuousClock.now - begin
        let all = (keys + additions.map(\.key)).reduce(into: Set<ObjectKey>()) { $0.formUnion($1) }
        let unplanned = all.filter { $0.isStorable && planned.objects[$0] == nil }
        var stored = try await history.objects(unplanned, at: standing.version)
        for key in all { if let change = planned.objects[key] { stored[key] = change.object } }
        let applying = ContinuousClock.now
        plan.seen.objects = stored
        plan.truth.objects = stored
        for (index, entry) in merged.enumerated() {
            try plan.add(entry, changesets[index], keys[index], refusal)
        }
        let now = RealmHistory.time(history.store.clock.now())
        plan.undoRefused(at: now)
        plan.setPartitionKeys(of: all, at: now)
        for (changeset, key) in additions where plan.refusedKeys.isDisjoint(with: key) {
            plan.addAgain(changeset, at: now)
        }
        for key in all {
            let object = plan.truth.objects[key], former = stored[key]
            let isSame = object.map { object in former.map { object.isIdentical(to: $0) } ?? false } ?? (former == nil)
            if !isSame { plan.objects[key] = (former, object) }
        }
        plan.work += ContinuousClock.now - applying
        if let last = new.last {
            plan.file.clientVersion = max(Int64(last.clientVersion), upload.progress.clientVersion)
            plan.file.uploadBase = max(file.uploadBase, Int64(last.serverVersion), upload.progress.serverVersion)
        }
        return plan
    }

    /// What becomes of the client's file.
    var fileChange: RealmTables.FileChange {
        RealmTables.FileChange(file: file, formerClientVersion: formerClientVersion, reciprocals: reciprocals)
    }

    private var nextVersion: Int64 { (entries.last?.version ?? formerVersion) + 1 }

    private mutating func add(
        _ entry: ServerHistory.Entry, _ changeset: RealmSync.Changeset, _ keys: Set<ObjectKey>, _ given: String?
    ) throws {
        if changeset.erasesSchema { throw RealmRefusal.schema("classes and properties can't be erased") }
        if let name = changeset.asymmetricClass {
            throw RealmRefusal.schema("objects of \(name) aren't asymmetric here")
        }
        let unfit: String?
        do throws(ApplyError) {
            unfit = try changeset.unfit(in: schema)
            try seen.apply(changeset)
        } catch {
            if [.schemaConflict, .unknownProperty, .unknownTable].contains(error.code) {
                throw RealmRefusal.schema(error.message)
            }
            throw RealmRefusal.reset(.badChangeset, error.message)
        }
        if let missing = seen.schema.names(beyond: schema).first {
            throw RealmRefusal.schema("the app's schema has no \(missing)")
        }
        let refusal = keys.isEmpty ? nil : given ?? unfit ?? apply(changeset, keys)
        entries.append(
            RealmTables.Entry(
                version: nextVersion, salt: RealmTables.Entry.salt(), file: Int64(entry.fileIdent),
                clientVersion: Int64(entry.clientVersion), originTime: Int64(entry.originTimestamp), audience: nil,
                // The classes are in the history already.
                bytes: keys.isEmpty || refusal != nil ? [] : entry.bytes))
        guard let refusal else { return }
        refusedKeys.formUnion(keys)
        refused.append(
            .init(
                serverVersion: 0, rejectedClientVersion: entry.clientVersion,
                rejected: keys.map { SessionError.RejectedObject(reason: refusal, $0) }))
    }

    /// Applies a changeset to the objects that count.
    /// - Returns: why it is refused; `nil` if it isn't.
    private mutating func apply(_ changeset: RealmSync.Changeset, _ keys: Set<ObjectKey>) -> String? {
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

    /// What a merge has dropped of a client's additions to numbers, because somebody has written the documents meanwhile.
    private static func lostAdditions(
        of uploads: [UploadedChangeset], merged: [RealmSync.Changeset], to entries: [RealmTables.Entry], for file: Int64
    ) throws -> [RealmSync.Changeset] {
        let others = entries.filter { $0.file == 1 && !$0.seen(by: file).bytes.isEmpty }
        if others.isEmpty { return [] }
        var lost = LostAdditions()
        for (upload, changeset) in zip(uploads, merged) {
            try lost.take(try RealmSync.Changeset(upload.bytes), merged: changeset)
        }
        if lost.isEmpty { return [] }
        return try lost.changesets(after: try others.map { try RealmSync.Changeset($0.bytes, limits: .none) })
    }

    /// Appends an addition to a number, unless there is no such number any more.
    private mutating func addAgain(_ changeset: RealmSync.Changeset, at time: Int64) {
        var next = truth
        do throws(ApplyError) { try next.apply(changeset) } catch { return }
        truth = next
        append(changeset, at: time, for: nil)
    }

    /// Appends a change of the server.
    /// - Parameter audience: The only client file that gets it; `nil` for all.
    private mutating func append(_ changeset: RealmSync.Changeset, at time: Int64, for audience: Int64?) {
        entries.append(
            RealmTables.Entry(
                version: nextVersion, salt: RealmTables.Entry.salt(), file: 1, clientVersion: 0, originTime: time,
                audience: audience, bytes: changeset.encoded()))
    }

    /// Appends what brings the client's objects back to what they are.
    private mutating func undoRefused(at time: Int64) {
        if refusedKeys.isEmpty { return }
        let version = nextVersion
        var client = seen
        let changeset = client.change(refusedKeys.map { ($0, truth.objects[$0]) })
        append(changeset, at: time, for: file.number)
        for index in refused.indices { refused[index].serverVersion = UInt64(version) }
    }
}

extension HistoryError {
    fileprivate var refusal: any Error {
        switch self {
        case .badServerVersion: RealmRefusal.reset(.badServerVersion, description)
        case .badClientVersion: RealmRefusal.reset(.badClientVersion, description)
        case .badOriginFileIdent: RealmRefusal.reset(.badOriginFileIdent, description)
        case .unreadable, .contradictory: RealmRefusal.reset(.badChangeset, description)
        case .damagedHistory: DocumentStoreError(.corruptRow, description)
        }
    }
}

extension ChangesetLimits {
    /// Of what the history has already.
    fileprivate static let none = ChangesetLimits(bytes: .max, instructions: .max, strings: .max, pathElements: .max)
}

import DocumentModel
import DocumentStore
import RealmSync

/// Plans of several uploads, each based on what the ones before it do, for one transaction.
struct PlannedUploads: Sendable {
    /// Where the history stands in Postgres.
    let standing: RealmTables.Standing
    private(set) var plans: [UploadPlan] = []
    private(set) var entries: [RealmTables.Entry] = []
    /// The objects that the plans change: as they are in Postgres, and as they become.
    private(set) var objects: [ObjectKey: (former: Document?, object: Document?)] = [:]

    init(after standing: RealmTables.Standing) { self.standing = standing }

    /// The version that the history has then.
    var version: Int64 { entries.last?.version ?? standing.version }

    mutating func append(_ plan: UploadPlan) {
        plans.append(plan)
        entries += plan.entries
        for (key, change) in plan.objects {
            objects[key] = (objects[key].map(\.former) ?? change.former, change.object)
        }
    }

    /// The writes of the documents. All gateways have them in the same order, so that they don't wait for each other in a circle.
    func writes(_ schema: ObjectSchema, _ target: RealmWrite.Target) -> [RealmWrite] {
        objects.sorted { ByteOrder.compare($0.key.place, $1.key.place) < 0 }.compactMap { key, change in
            schema.write(key, from: change.former, to: change.object).flatMap { RealmWrite($0, of: key, target) }
        }
    }

    /// What the transaction adds to the history.
    func addition(writing writes: [RealmWrite]) -> RealmTables.Addition {
        var addition = RealmTables.Addition(
            entries: entries, objects: objects.mapValues(\.object),
            files: plans.filter { !$0.entries.isEmpty }.map(\.fileChange))
        if !writes.isEmpty {
            let users = Set(texts: plans.filter { !$0.objects.isEmpty }.map(\.user))
            addition.writes = RealmTables.Writes(
                users: users.sortedTexts, collections: writes.map(\.collection),
                ids: writes.map { $0.id.idText ?? "" }, since: standing.revision)
        }
        return addition
    }
}

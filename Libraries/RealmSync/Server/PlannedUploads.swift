package import DocumentModel

/// Plans of several uploads, each based on what the ones before it do, for one transaction.
package struct PlannedUploads: Sendable {
    /// Where the history stands in the database.
    package let standing: HistoryStanding
    package private(set) var plans: [UploadPlan] = []
    package private(set) var entries: [HistoryEntry] = []
    /// The objects that the plans change: as they are in the database, and as they become.
    package private(set) var objects: [ObjectKey: (former: Document?, object: Document?)] = [:]
    /// Where the plans move elements of collections.
    package private(set) var moved = MovedElements()

    /// The objects that are new only by assumption.
    private var assumed: Set<ObjectKey> = []

    package init(after standing: HistoryStanding) { self.standing = standing }

    /// The version that the history has then.
    package var version: Int64 { entries.last?.version ?? standing.version }

    package mutating func append(_ plan: UploadPlan) {
        plans.append(plan)
        assumed.formUnion(plan.assumed)
        moved.formUnion(plan.moved)
        entries += plan.entries
        for (key, change) in plan.objects {
            objects[key] = (objects[key].map(\.former) ?? change.former, change.object)
        }
    }

    /// Whether the transaction fails if an assumption is wrong: it inserts all these objects.
    package var provesAssumptions: Bool {
        assumed.allSatisfy { objects[$0]?.object != nil }
    }

    /// What the transaction adds to the history.
    /// - Parameter documents: The collections and keys of the documents that it writes.
    package func addition(writing documents: [(collection: String, id: String)]) -> HistoryAddition {
        var addition = HistoryAddition(entries: entries)
        addition.objects = objects.mapValues(\.object)
        addition.files = plans.filter { !$0.entries.isEmpty }.map(\.fileChange)
        if !documents.isEmpty {
            let users = Set(texts: plans.filter { !$0.objects.isEmpty }.map(\.user))
            addition.writes = HistoryAddition.Writes(
                users: users.sortedTexts, collections: documents.map(\.collection), ids: documents.map(\.id),
                since: standing.revision)
        }
        return addition
    }
}

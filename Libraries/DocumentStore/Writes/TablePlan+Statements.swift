import DocumentModel
import Postgres
import SyncEngine

extension TablePlan {
    /// The statement that moves the heads; it must be sent before those of ``statements()``.
    var numbering: PostgresStatement {
        let partitions = plan.counts.sorted { $0.key < $1.key }
        return PostgresStatement(
            CommitSQL.number,
            [
                .text(plan.storage.app), .textArray(partitions.map(\.key.text)), .int8Array(partitions.map(\.value)),
            ])
    }

    /// The statements that write documents, change rows and tombstones: one for each kind of write to each collection.
    func statements() -> [PostgresStatement] {
        var writes: [TableWrites] = []
        var places: [ChangeEvent.Namespace: Int] = [:]
        var loose = LooseRows(app: plan.storage.app)
        for key in plan.order {
            guard let document = plan[key], let last = document.changes.last,
                let table = tables[document.namespace]
            else { continue }
            let index = places[document.namespace] ?? writes.count
            if index == writes.count {
                writes.append(TableWrites(table))
                places[document.namespace] = index
            }
            // The last change's row is written together with the document's row, so that its bodies aren't sent twice.
            let isWrittenBeside = writes[index].add(document, last: last, plan: plan)
            for (place, change) in document.changes.enumerated() {
                if isWrittenBeside && place == document.changes.count - 1 { continue }
                loose.add(change, of: document, plan: plan)
            }
            loose.bury(document, exceptLast: isWrittenBeside, plan: plan)
        }
        return writes.flatMap(\.statements) + loose.statements
    }
}

/// The writes to one collection's table, by kind.
private struct TableWrites {
    private let table: CollectionTable
    private var inserts = DocumentColumns()
    private var updates = DocumentColumns()
    private var deletes = DocumentColumns()
    private var numbers = DocumentColumns()
    /// The ids of documents that replace deleted ones, in the same rows.
    private var reborn: [String] = []

    init(_ table: CollectionTable) { self.table = table }

    /// - Returns: whether the document's statement also writes the last change's row.
    mutating func add(_ document: WorkingDocument, last: WorkingDocument.Change, plan: WritePlan) -> Bool {
        guard let current = document.current else {
            // A row that was inserted and deleted within this transaction was never in the table.
            if !document.isInTable { return false }
            // The row has another incarnation if the document was inserted again within this transaction.
            let isLogged = !last.incarnation.isProvisional
            deletes.add(document, last: last, isLogged: isLogged, plan: plan)
            return isLogged
        }
        if document.isInTable, document.isReborn { reborn.append(document.id) }
        if document.isFlushed {
            numbers.add(document, current: current, last: last, isLogged: false, plan: plan)
            return false
        }
        let isLogged = last.moved == nil
        if document.isInTable {
            updates.add(document, current: current, last: last, isLogged: isLogged, plan: plan)
        } else {
            inserts.add(document, current: current, last: last, isLogged: isLogged, plan: plan)
        }
        return isLogged
    }

    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        let names: [PostgresValue] = [
            .text(table.app), .text(table.namespace.database), .text(table.namespace.collection),
        ]
        if !deletes.isEmpty { statements.append(.init(table.deleteStatement, names + deletes.deleteParameters)) }
        if !updates.isEmpty { statements.append(.init(table.updateStatement, names + updates.writeParameters)) }
        if !inserts.isEmpty { statements.append(.init(table.insertStatement, names + inserts.writeParameters)) }
        if !numbers.isEmpty {
            statements.append(.init(table.numberStatement, [.text(table.app)] + numbers.numberParameters))
        }
        if !reborn.isEmpty {
            statements.append(
                .init(
                    "update \(table.name) set natural_order = default where _id = any($1::text[])",
                    [.textArray(reborn)]))
        }
        return statements
    }
}

/// The parameter arrays by document, in the order of the statements' parameters.
private struct DocumentColumns {
    private var ids: [String?] = []
    private var partitions: [String?] = []
    private var backs: [Int64?] = []
    private var bodies: [[UInt8]?] = []
    private var plain: [[UInt8]?] = []
    private var clocks: [String?] = []
    private var incarnationBacks: [Int64?] = []
    private var incarnationEpochs: [Int64?] = []
    private var incarnations: [Int64?] = []
    private var operations: [String?] = []
    private var logged: [Bool?] = []
    private var befores: [[UInt8]?] = []
    private var origins = OriginColumns()

    var isEmpty: Bool { ids.isEmpty }

    mutating func add(
        _ document: WorkingDocument, current: WorkingDocument.State? = nil, last: WorkingDocument.Change,
        isLogged: Bool,
        plan: WritePlan
    ) {
        ids.append(document.id)
        partitions.append(last.partition.text)
        backs.append(plan.back(last.ordinal, in: last.partition))
        logged.append(isLogged)
        operations.append(isLogged ? last.operation.rawValue : nil)
        // The table still has the body before the first change; for later changes it has to be passed.
        befores.append(document.changes.count > 1 ? last.before : nil)
        origins.add(last.origin)
        guard let current else { return }
        let incarnation = current.stored.incarnation
        incarnationBacks.append(
            incarnation.isProvisional ? plan.back(incarnation.number, in: current.partition) : nil)
        incarnationEpochs.append(incarnation.isProvisional ? nil : Int64(incarnation.epoch))
        incarnations.append(incarnation.isProvisional ? nil : incarnation.number)
        clocks.append(StoredClocks.write(current.stored.clocks, ordinal: last.ordinal))
        if document.isFlushed { return }
        bodies.append(current.body)
        var form: [UInt8] = []
        form.reserveCapacity(current.body.count)
        PlainForm.append(current.stored.document, to: &form)
        plain.append(form)
    }

    var writeParameters: [PostgresValue] {
        [
            .textArray(ids), .textArray(partitions), .int8Array(backs), .utf8Array(bodies), .utf8Array(plain),
            .textArray(clocks), .int8Array(incarnationBacks), .int8Array(incarnationEpochs), .int8Array(incarnations),
            .textArray(operations), .utf8Array(befores),
        ] + origins.parameters
    }

    var deleteParameters: [PostgresValue] {
        [.textArray(ids), .textArray(partitions), .int8Array(backs), .utf8Array(befores), .boolArray(logged)]
            + origins.parameters
    }

    var numberParameters: [PostgresValue] {
        [
            .textArray(ids), .textArray(partitions), .int8Array(backs), .int8Array(incarnationBacks),
            .textArray(clocks),
        ]
    }
}

private struct OriginColumns {
    private var users: [String?] = []
    private var devices: [String?] = []
    private var versions: [Int64?] = []

    mutating func add(_ origin: ChangeEvent.Origin?) {
        users.append(origin?.user)
        devices.append(origin?.device)
        versions.append(origin?.version)
    }

    var parameters: [PostgresValue] { [.textArray(users), .textArray(devices), .int8Array(versions)] }
}

/// Change rows and tombstones that are written separately from their documents: the intermediate changes of a document that changed
/// several times, and both halves of a move.
private struct LooseRows {
    private let app: String
    private var partitions: [String?] = []
    private var backs: [Int64?] = []
    private var namespaces: (databases: [String?], collections: [String?]) = ([], [])
    private var ids: [String?] = []
    private var operations: [String?] = []
    private var incarnations: (backs: [Int64?], epochs: [Int64?], numbers: [Int64?]) = ([], [], [])
    private var bodies: (before: [[UInt8]?], after: [[UInt8]?]) = ([], [])
    private var moves: (partitions: [String?], backs: [Int64?]) = ([], [])
    private var origins = OriginColumns()
    private var tombstones = TombstoneColumns()

    init(app: String) { self.app = app }

    mutating func add(_ change: WorkingDocument.Change, of document: WorkingDocument, plan: WritePlan) {
        partitions.append(change.partition.text)
        backs.append(plan.back(change.ordinal, in: change.partition))
        namespaces.databases.append(document.namespace.database)
        namespaces.collections.append(document.namespace.collection)
        ids.append(document.id)
        operations.append(change.operation.rawValue)
        let incarnation = change.incarnation
        incarnations.backs.append(
            incarnation.isProvisional ? plan.back(incarnation.number, in: change.partition) : nil)
        incarnations.epochs.append(incarnation.isProvisional ? nil : Int64(incarnation.epoch))
        incarnations.numbers.append(incarnation.isProvisional ? nil : incarnation.number)
        bodies.before.append(change.before)
        bodies.after.append(change.after)
        moves.partitions.append(change.moved?.partition.text)
        moves.backs.append(change.moved.map { plan.back($0.ordinal, in: $0.partition) })
        origins.add(change.origin)
    }

    /// Adds the tombstones of a document; if it left a partition more than once, only the last tombstone is kept.
    mutating func bury(_ document: WorkingDocument, exceptLast: Bool, plan: WritePlan) {
        var last: [ExactText: WorkingDocument.Change] = [:]
        let changes = exceptLast ? document.changes.dropLast() : document.changes[...]
        for change in changes where change.operation == .delete { last[ExactText(change.partition.text)] = change }
        for (_, change) in last.sorted(by: { $0.key < $1.key }) {
            // The statement that deletes the row also writes its tombstone, after this one.
            if exceptLast, document.current == nil, let final = document.changes.last,
                final.partition.text.hasSameBytes(as: change.partition.text)
            {
                continue
            }
            tombstones.add(change, of: document, plan: plan)
        }
    }

    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !ids.isEmpty {
            statements.append(
                .init(
                    CommitSQL.changes,
                    [
                        .text(app), .textArray(partitions), .int8Array(backs), .textArray(namespaces.databases),
                        .textArray(namespaces.collections), .textArray(ids), .textArray(operations),
                        .int8Array(incarnations.backs), .int8Array(incarnations.epochs),
                        .int8Array(incarnations.numbers), .utf8Array(bodies.before), .utf8Array(bodies.after),
                        .textArray(moves.partitions), .int8Array(moves.backs),
                    ] + origins.parameters))
        }
        if !tombstones.isEmpty { statements.append(tombstones.statement(app: app)) }
        return statements
    }
}

private struct TombstoneColumns {
    private var partitions: [String?] = []
    private var backs: [Int64?] = []
    private var databases: [String?] = []
    private var collections: [String?] = []
    private var ids: [String?] = []
    private var incarnationBacks: [Int64?] = []
    private var incarnationEpochs: [Int64?] = []
    private var incarnations: [Int64?] = []

    var isEmpty: Bool { ids.isEmpty }

    mutating func add(_ change: WorkingDocument.Change, of document: WorkingDocument, plan: WritePlan) {
        partitions.append(change.partition.text)
        backs.append(plan.back(change.ordinal, in: change.partition))
        databases.append(document.namespace.database)
        collections.append(document.namespace.collection)
        ids.append(document.id)
        let incarnation = change.incarnation
        incarnationBacks.append(
            incarnation.isProvisional ? plan.back(incarnation.number, in: change.partition) : nil)
        incarnationEpochs.append(incarnation.isProvisional ? nil : Int64(incarnation.epoch))
        incarnations.append(incarnation.isProvisional ? nil : incarnation.number)
    }

    func statement(app: String) -> PostgresStatement {
        PostgresStatement(
            CommitSQL.tombstones,
            [
                .text(app), .textArray(partitions), .int8Array(backs), .textArray(databases), .textArray(collections),
                .textArray(ids), .int8Array(incarnationBacks), .int8Array(incarnationEpochs), .int8Array(incarnations),
            ])
    }
}

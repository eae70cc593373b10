import Postgres
import SyncEngine

extension TablePlan {
    /// The statements that write the documents' current state to their rows, without revisions, so that a transaction's later
    /// statements can read its own writes. Until the commit the rows have epoch 0.
    func flushStatements() -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        for key in plan.order {
            guard let document = plan[key], !document.changes.isEmpty, !document.isFlushed,
                let table = tables[document.namespace]?.name
            else { continue }
            guard let current = document.current else {
                if document.isInTable {
                    statements.append(.init("delete from \(table) where _id = $1", [.text(document.id)]))
                }
                continue
            }
            var plain: [UInt8] = []
            PlainForm.append(current.stored.document, to: &plain)
            let parameters: [PostgresValue] = [
                .text(document.id), .text(current.partition.text), .utf8(current.body), .utf8(plain),
            ]
            statements.append(
                .init(
                    document.isInTable
                        ? """
                        update \(table) set partition = $2, body = $3, document = $4, epoch = 0, updated_at = now()
                        where _id = $1
                        """
                        : """
                        insert into \(table) (_id, partition, epoch, revision, incarnation_epoch, incarnation, body, document)
                        values ($1, $2, 0, 0, 0, 0, $3, $4)
                        """, parameters))
        }
        return statements
    }
}

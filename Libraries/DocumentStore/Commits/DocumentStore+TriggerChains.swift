public import DocumentModel
public import Postgres

extension DocumentStore {
    /// Sets which runs of triggers led to the changes of a transaction. An expression of SQL for a `select` in the transaction, before its
    /// commit.
    /// - Parameter text: The SQL of the chain as Extended JSON, or of null.
    public static func triggerChainSQL(_ text: String) -> String {
        "set_config('partita.trigger_chain', coalesce(\(text), ''), true)"
    }

    /// Lets the changes of a transaction belong to the chain of triggers that led to an earlier change, since they follow from it.
    public static func continueTriggerChain(
        of revision: Revision, in partition: Partition, app: String, _ transaction: PostgresTransaction
    ) async throws {
        let chain = """
            (select trigger_chain from partita.changes
                where app = $1 and partition = $2 and epoch = $3::bigint and revision = $4 limit 1)
            """
        _ = try await transaction.send(
            "select \(triggerChainSQL(chain))",
            [.text(app), .text(partition.text), .int(Int64(revision.epoch)), .int(revision.number)])
    }
}

public import DocumentModel
public import Postgres

extension DocumentStore {
    /// How many documents an app has, in all its collections.
    public func documentCount(of app: String) async throws -> Int {
        var total = 0
        for table in try await tables.all(of: app) {
            total += try await client.query("select count(*) from \(table.name)").decode(Int.self).first ?? 0
        }
        return total
    }

    /// Deletes all documents of an app, in transactions of some hundred. They are deletions like any others, except that the app should not be
    /// deployed, so that no trigger runs. After an interruption it may be done again.
    /// - Parameter alongside: runs in each of the transactions; when it throws, the documents of this one stay.
    /// - Returns: how many were deleted.
    public func deleteAll(
        of app: String, alongside: @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        var total = 0
        for table in try await tables.all(of: app) {
            while true {
                let count = try await client.withTransaction { transaction in
                    let count = try await transaction.execute(
                        "delete from \(table.name) where _id in (select _id from \(table.name) order by _id limit 500)")
                    try await alongside(transaction)
                    return count
                }
                total += count
                if count == 0 { break }
            }
        }
        return total
    }
}

extension DocumentStore {
    /// Where a document is.
    public struct Place: Hashable, Sendable {
        public let namespace: ChangeEvent.Namespace
        public let partition: Partition
        public let revision: Revision
    }

    /// The collections of an app that have a document with this `_id`.
    /// - Parameter id: the key text of the `_id`.
    public func places(of id: String, app: String) async throws -> [Place] {
        var places: [Place] = []
        for table in try await tables.all(of: app) {
            let rows = try await client.query(
                "select partition, epoch, revision from \(table.name) where _id = $1", [.text(id)])
            for (partition, epoch, number) in try rows.decode((String, Int32, Int64).self) {
                places.append(
                    Place(
                        namespace: table.namespace, partition: Partition(text: partition),
                        revision: Revision(epoch: epoch, number: number)))
            }
        }
        return places
    }
}

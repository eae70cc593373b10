public import DocumentModel
public import Postgres
import SyncEngine

/// Indexes that change together with an app's version. They can't be built in a transaction: so they are staged before it, adopted in it,
/// and what is gone is dropped after it. A process that ends in between leaves rows that ``clearIndexes(of:)`` recognises.
extension DocumentStore {
    /// An index of a collection.
    public struct PlacedIndex: Sendable {
        public let namespace: ChangeEvent.Namespace
        public let model: IndexModel

        public init(_ namespace: ChangeEvent.Namespace, _ model: IndexModel) {
            self.namespace = namespace
            self.model = model
        }

        fileprivate func isSame(as other: PlacedIndex) -> Bool {
            namespace == other.namespace && model.name.hasSameBytes(as: other.model.name)
                && model.isEquivalent(to: other.model)
        }
    }

    /// Those of `former` that aren't the same in `wanted`.
    public static func gone(_ former: [PlacedIndex], besides wanted: [PlacedIndex]) -> [PlacedIndex] {
        former.filter { index in !wanted.contains { $0.isSame(as: index) } }
    }

    /// Builds the wanted indexes that aren't there. Readers don't use them yet.
    ///
    /// - Parameter gone: the indexes that aren't to be there any more.
    /// - Throws: `DocumentStoreError` as `DocumentCollection.createIndexes`, with the index that can't be built; the others are left staged.
    public func stageIndexes(
        _ wanted: [PlacedIndex], without gone: [PlacedIndex], of app: String,
        failed: (PlacedIndex, DocumentStoreError) -> any Error
    ) async throws {
        for index in wanted {
            do {
                let table = try await tables.ensured(index.namespace, of: storage(of: app))
                // One by one, so that the failure says which.
                try await IndexBuilder(client: client, table: table).stage(
                    [index.model],
                    without: gone.filter { $0.namespace == index.namespace }.map(\.model.name))
            } catch let error as DocumentStoreError {
                throw failed(index, error)
            }
        }
    }

    /// Makes the staged indexes those that readers use, in place of those that are gone.
    public static func adoptStagedIndexes(
        without gone: [PlacedIndex], of app: String, in transaction: PostgresTransaction
    ) async throws {
        for index in gone {
            try await transaction.execute(
                """
                update partita.indexes set name = name || '\(IndexBuilder.gone)', is_ready = false
                where app = $1 and database = $2 and collection = $3 and name = $4
                """,
                [
                    .text(app), .text(index.namespace.database), .text(index.namespace.collection),
                    .text(index.model.name),
                ])
        }
        try await transaction.execute(
            """
            update partita.indexes set name = left(name, -\(IndexBuilder.staged.utf8.count)), is_ready = true
            where app = $1 and not is_ready and name like '%\(IndexBuilder.staged)'
            """, [.text(app)])
    }

    /// Drops the indexes of an app that were staged and not adopted, and those that are gone.
    public func clearIndexes(of app: String) async throws {
        for table in try await tables.all(of: app) {
            let loose = try await client.query(
                """
                select from partita.indexes where app = $1 and database = $2 and collection = $3 and not is_ready
                    and (name like '%\(IndexBuilder.staged)' or name like '%\(IndexBuilder.gone)') limit 1
                """, [.text(app), .text(table.namespace.database), .text(table.namespace.collection)])
            if !loose.isEmpty { try await IndexBuilder(client: client, table: table).clear() }
        }
    }

    /// The apps that have indexes for ``clearIndexes(of:)``.
    public func appsWithLooseIndexes() async throws -> [String] {
        try await client.query(
            """
            select distinct app from partita.indexes
            where not is_ready and (name like '%\(IndexBuilder.staged)' or name like '%\(IndexBuilder.gone)')
            """
        ).decode(String.self)
    }
}

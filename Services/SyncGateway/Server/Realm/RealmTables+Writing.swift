import DocumentModel
import Postgres
import RealmSync

extension RealmTables {
    /// Makes an empty history, if there is none.
    func begin(_ key: PartitionKey) async throws {
        try await client.execute(
            """
            insert into partita.realm_partitions (app, partition, version, epoch, revision, schema)
            values ($1, $2, 0, 0, 0, '') on conflict do nothing
            """, Self.place(key))
    }

    /// The most files that a user gets of a partition in an hour, if nobody else gets any: many devices may share an account, but not
    /// without end.
    private static let filesPerHour: Int64 = 10_000

    /// Gives a number and a secret to a new client file.
    /// - Throws: ``RealmRefusal/tooManyFiles``.
    func makeFile(of user: String, in key: PartitionKey) async throws -> ClientFile {
        let salt = HistoryEntry.salt()
        let rows = try await client.query(
            """
            with numbered as (
                update partita.realm_partitions set next_file = next_file + 1
                where app = $1 and partition = $2 and not exists (
                    select from partita.realm_files f
                    where f.app = $1 and f.partition = $2 and f.file = next_file - $5
                        and f.user_id = $4 and f.made_at > now() - interval '1 hour')
                returning next_file - 1 as file)
            insert into partita.realm_files (app, partition, file, salt, user_id)
            select $1, $2, file, $3, $4 from numbered returning file
            """, Self.place(key) + [.int(salt), .text(user), .int(Self.filesPerHour)])
        guard let number: Int64 = try rows.first?.decode(0) else { throw RealmRefusal.tooManyFiles }
        return ClientFile(number: number, salt: salt, user: user, clientVersion: 0, uploadBase: 0, base: 0)
    }

    /// Notes up to which version a client has the history: reciprocal forms up to there aren't needed any more.
    func note(_ version: Int64, of file: ClientFile, in key: PartitionKey) async throws {
        let values = Self.place(key) + [.int(file.number), .int(version), .int(file.salt)]
        _ = try await client.pipeline([
            PostgresStatement(
                """
                update partita.realm_files set base = greatest(base, $4), seen_at = now()
                where app = $1 and partition = $2 and file = $3 and salt = $5
                """, values),
            PostgresStatement(
                """
                delete from partita.realm_reciprocals r using partita.realm_files f
                where r.app = $1 and r.partition = $2 and r.file = $3 and r.version <= $4
                    and f.app = $1 and f.partition = $2 and f.file = $3 and f.salt = $5
                """, values),
        ])
    }
}

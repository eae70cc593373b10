import Postgres

/// The extensions of Postgres without which a dump can't be restored. A database may have others, which aren't Partita's, and which the
/// server of a restore may lack.
enum NeededExtensions {
    /// The extensions that something in these schemas depends on: an index on an operator class, a column on a type, a default, a view or
    /// a function on a function.
    static func all(of schemas: [String], on connection: some PostgresQuerying) async throws -> [String] {
        // What has no schema of its own, as a view's rule or a column's default, is in that of its relation.
        try await connection.query(
            """
            select distinct e.extname::text from pg_extension e
            cross join lateral (
                select 'pg_extension'::regclass::oid as classid, e.oid as objid
                union all
                select classid, objid from pg_depend
                where refclassid = 'pg_extension'::regclass and refobjid = e.oid and deptype = 'e'
            ) member
            join pg_depend d on d.refclassid = member.classid and d.refobjid = member.objid and d.deptype <> 'e'
            left join pg_depend owner on owner.classid = d.classid and owner.objid = d.objid
                and owner.refclassid = 'pg_class'::regclass and owner.deptype in ('a', 'i')
            where e.extname <> 'plpgsql' and exists (
                select from unnest($1::text[]) as s where quote_ident(s) in (
                    (pg_identify_object(d.classid, d.objid, 0)).schema,
                    (pg_identify_object('pg_class'::regclass, owner.refobjid, 0)).schema))
            order by 1
            """, [.textArray(schemas)]
        ).decode(String.self)
    }

    /// - Throws: `ToolError` that names those that aren't installed on the server.
    static func require(_ names: [String], on connection: some PostgresQuerying) async throws {
        let missing = try await connection.query(
            """
            select name from unnest($1::text[]) as name
            where name not in (select extname::text from pg_extension)
                and name not in (select a.name::text from pg_available_extensions a)
            order by 1
            """, [.textArray(names)]
        ).decode(String.self)
        guard missing.isEmpty else {
            throw ToolError(
                "the backup needs extensions that aren't installed on this Postgres server: \(missing.joined(separator: ", ")). Nothing has changed"
            )
        }
    }
}

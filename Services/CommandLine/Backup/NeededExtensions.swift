import Postgres

/// The extensions of Postgres without which a dump can't be restored. A database may have others, which aren't Partita's, and which the
/// server of a restore may lack.
enum NeededExtensions {
    /// The extensions that something in these schemas depends on, each with its schema: an index on an operator class, a column on a type,
    /// a default, a view or a function on a function.
    /// - Throws: `ToolError` when one is in one of these schemas, which a restore replaces.
    static func all(
        of schemas: [String], on connection: some PostgresQuerying
    ) async throws -> [(name: String, schema: String)] {
        // What has no schema of its own, as a view's rule or a column's default, is in that of its relation.
        let all = try await connection.query(
            """
            select distinct e.extname::text, n.nspname::text from pg_extension e
            join pg_namespace n on n.oid = e.extnamespace
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
        ).decode((String, String).self)
        if let (name, schema) = all.first(where: { schemas.contains($0.1) }) {
            throw ToolError(
                "the extension \(name) is in the schema \(schema), which a restore replaces, so that the backup couldn't be restored: run \(move(name, to: "public")) and make the backup then"
            )
        }
        return all.map { (name: $0.0, schema: $0.1) }
    }

    private static func move(_ name: String, to schema: String) -> String {
        "`alter extension \(name.postgresIdentifier) set schema \(schema.postgresIdentifier)`"
    }

    /// SQL that creates the extensions which the database lacks, in the schemas where the dump's objects expect them.
    static func creation(_ manifest: BackupManifest, on connection: some PostgresQuerying) async throws -> [String] {
        let schemas = manifest.extensions.map { manifest.schema(ofExtension: $0) }
        // Only those, since Postgres refuses names such as pg_catalog, also with `if not exists`.
        let missing = try await connection.query(
            "select distinct s from unnest($1::text[]) as s where s not in (select nspname::text from pg_namespace)",
            [.textArray(schemas)]
        ).decode(String.self)
        return missing.map { "create schema \($0.postgresIdentifier);" }
            + zip(manifest.extensions, schemas).map { name, schema in
                "create extension if not exists \(name.postgresIdentifier) schema \(schema.postgresIdentifier) cascade;"
            }
    }

    /// - Throws: `ToolError` that names those that aren't installed on the server, or are in another schema than the dump's objects expect.
    static func require(_ manifest: BackupManifest, on connection: some PostgresQuerying) async throws {
        let missing = try await connection.query(
            """
            select name from unnest($1::text[]) as name
            where name not in (select extname::text from pg_extension)
                and name not in (select a.name::text from pg_available_extensions a)
            order by 1
            """, [.textArray(manifest.extensions)]
        ).decode(String.self)
        guard missing.isEmpty else {
            throw ToolError(
                "the backup needs extensions that aren't installed on this Postgres server: \(missing.joined(separator: ", ")). Nothing has changed"
            )
        }
        // Backups of earlier versions don't say where.
        guard let schemas = manifest.extensionSchemas else { return }
        let present = try await connection.query(
            """
            select e.extname::text, n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
            where e.extname = any($1::text[]) order by 1
            """, [.textArray(manifest.extensions)]
        ).decode((String, String).self)
        for (name, schema) in present {
            guard let expected = schemas[name], expected != schema else { continue }
            throw ToolError(
                "the extension \(name) is in the schema \(schema) here, and the backup's data needs it in \(expected): run \(move(name, to: expected)) (after `create schema`, if that is missing). Nothing has changed"
            )
        }
    }
}

import DocumentModel
import EventTopics
import Postgres

/// `partita.media_objects`, `partita.media_references` and `partita.media_garbage`: which bytes are in the store, and which
/// documents refer to them.
struct MediaTable: Sendable {
    let client: PostgresClient

    /// Bytes that are in the store, or will be.
    struct Object: Sendable {
        /// The key in the store.
        var key: String
        var contentType: String
        var isStored: Bool
    }

    /// Bytes that are in the store.
    struct StoredObject: Sendable {
        /// The key in the store.
        var key: String
        var contentType: String
        /// In bytes.
        var size: Int
    }

    // MARK: Offloading

    /// Reserves bytes for a place: from now on they aren't removed. The caller has to store them if they aren't stored yet.
    func reserve(_ digest: String, size: Int, contentType: String, for job: MediaJob) async throws -> Object {
        let fresh = "\(job.app)/\(digest.prefix(2))/\(digest)-\(ObjectId().hexString)"
        let rows = try await client.pipeline([
            PostgresStatement(
                """
                insert into partita.media_objects (app, digest, object, size, content_type) values ($1, $2, $3, $4, $5)
                on conflict (app, digest) do update set size = excluded.size
                returning object, content_type, is_stored
                """, [.text(job.app), .text(digest), .text(fresh), .int(Int64(size)), .text(contentType)]),
            PostgresStatement(
                """
                insert into partita.media_references
                    (app, database, collection, _id, path, digest, partition, revision, state)
                values ($1, $2, $3, $4, $5, $6, $7, $8, 'reserved') on conflict do nothing
                """,
                job.place.parameters + [.text(digest), .text(job.partition.text), .text(job.revision.description)]),
        ])
        guard let row = rows[0].first else { throw PostgresError(.decoding, "an object was not returned") }
        let (key, type, isStored) = try row.decode((String, String, Bool).self)
        return Object(key: key, contentType: type, isStored: isStored)
    }

    /// Records that the store has the bytes.
    func stored(_ object: Object) async throws {
        try await client.execute(
            "update partita.media_objects set is_stored = true where object = $1", [.text(object.key)])
    }

    /// Called in the transaction that writes the link: ensures that its object exists and isn't removed.
    /// - Parameters:
    ///   - insertion: The document's insertion number.
    ///   - thumbnail: The digest of the thumbnail that is written with the link; `nil` if none was made.
    /// - Throws: `superseded` when the object was removed meanwhile; then nothing must be committed.
    func link(
        _ digest: String, _ object: Object, insertion: Int64, thumbnail: String?, for job: MediaJob,
        in transaction: PostgresTransaction
    ) async throws {
        let rows = try await transaction.query(
            """
            with object as (
                select from partita.media_objects where app = $1 and digest = $6 and object = $9 and is_stored for share)
            insert into partita.media_references
                (app, database, collection, _id, path, digest, partition, revision, state, insertion, thumbnail)
            select $1, $2, $3, $4, $5, $6, $7, $8, 'linked', $10::bigint, $11 from object
            on conflict (app, database, collection, _id, path, digest) do update set partition = excluded.partition,
                revision = excluded.revision, state = excluded.state, insertion = excluded.insertion,
                thumbnail = excluded.thumbnail
            returning digest
            """,
            job.place.parameters + [
                .text(digest), .text(job.partition.text), .text(job.revision.description), .text(object.key),
                .int(insertion), PostgresValue(thumbnail),
            ])
        guard rows.isEmpty else { return }
        throw MediaOffloadError(code: .superseded, message: "the object \(object.key) was removed meanwhile")
    }

    /// Whether the thumbnail with this digest was made of what a place had, and not by the app.
    func hasMade(thumbnail digest: String, at place: MediaPlace) async throws -> Bool {
        try await !client.query(
            """
            select from partita.media_references
            where app = $1 and database = $2 and collection = $3 and _id = $4 and path = $5 and thumbnail = $6 limit 1
            """, place.parameters + [.text(digest)]
        ).isEmpty
    }

    // MARK: Removing

    /// Deletes the references of a document except for those of its links; of its other fields only those whose link was written, since
    /// the others are being moved. Objects without any other reference become garbage.
    /// - Parameter links: Reads the digests that the document's links refer to, and its insertion number; `nil` without a document.
    ///   The references that may be deleted are locked before: those of a link that is committed later, which it doesn't see, stay.
    func keep(
        for job: MediaJob, links: (PostgresTransaction) async throws -> (digests: [String], insertion: Int64?)
    ) async throws {
        let place = job.place.parameters
        try await client.withTransaction { transaction in
            let present = try await transaction.query(
                """
                select path, digest from partita.media_references
                where app = $1 and database = $2 and collection = $3 and _id = $4
                    and (path = $5 or state <> 'reserved')
                order by path, digest for update
                """, place
            ).decode((String, String).self)
            guard !present.isEmpty else { return }
            let (digests, insertion) = try await links(transaction)
            let forgotten = try await transaction.query(
                """
                delete from partita.media_references
                where app = $1 and database = $2 and collection = $3 and _id = $4
                    and (path, digest) in (select * from unnest($5::text[], $6::text[]))
                    and not (digest = any($7::text[]) and coalesce(insertion = $8::bigint, true))
                returning digest
                """,
                place.dropLast() + [
                    .textArray(present.map(\.0)), .textArray(present.map(\.1)), .textArray(digests),
                    .int(insertion ?? 0),
                ]
            ).decode(String.self)
            // In a fixed order, so that two concurrent removals can't deadlock. The lock is taken before the references are read: a
            // concurrent reservation of the object is either seen, or waits and creates a new object.
            for digest in Set(forgotten).sorted() {
                _ = try await transaction.query(
                    "select from partita.media_objects where app = $1 and digest = $2 for update",
                    [.text(job.app), .text(digest)])
                _ = try await transaction.query(
                    """
                    with unused as (
                        delete from partita.media_objects o where o.app = $1 and o.digest = $6 and not exists (
                            select from partita.media_references r where r.app = o.app and r.digest = o.digest)
                        returning object)
                    insert into partita.media_garbage
                        (object, app, database, collection, _id, path, digest, partition, revision)
                    select object, $1, $2, $3, $4, $5, $6, $7, $8 from unused
                    """,
                    place + [.text(digest), .text(job.partition.text), .text(job.revision.description)])
            }
        }
    }

    /// The objects to remove from the store on behalf of a place.
    func garbage(of place: MediaPlace) async throws -> [(key: String, event: MediaEvent)] {
        let rows = try await client.query(
            """
            select object, digest, partition, revision from partita.media_garbage
            where app = $1 and database = $2 and collection = $3 and _id = $4 and path = $5
            """, place.parameters)
        return try rows.map { row in
            let (key, digest, partition, revision) = try row.decode((String, String, String, String).self)
            return (key, try event(.removed, place, digest, partition, revision, size: 0, contentType: ""))
        }
    }

    func removed(_ key: String) async throws {
        try await client.execute("delete from partita.media_garbage where object = $1", [.text(key)])
    }

    // MARK: References of earlier versions

    /// Some of the references that lack their documents' insertion numbers, by collection.
    func unnumbered(limit: Int) async throws -> [(app: String, namespace: ChangeEvent.Namespace, ids: [String])] {
        let rows = try await client.query(
            """
            select app, database, collection, array_agg(distinct _id) from (
                select app, database, collection, _id from partita.media_references where insertion is null limit $1) r
            group by app, database, collection
            """, [.int(Int64(limit))])
        return try rows.map { row in
            let (app, database, collection, ids) = try row.decode((String, String, String, [String]).self)
            return (app, .init(database: database, collection: collection), ids)
        }
    }

    /// Stores insertion numbers; 0 for documents that don't exist.
    func number(
        _ ids: [String], by numbers: [ExactText: Int64], app: String, namespace: ChangeEvent.Namespace
    ) async throws {
        try await client.execute(
            """
            update partita.media_references r set insertion = k.insertion
            from unnest($4::text[], $5::bigint[]) k(id, insertion)
            where r.app = $1 and r.database = $2 and r.collection = $3 and r._id = k.id and r.insertion is null
            """,
            [
                .text(app), .text(namespace.database), .text(namespace.collection), .textArray(ids),
                .int8Array(ids.map { numbers[ExactText($0)] ?? 0 }),
            ])
    }

    // MARK: Announcing

    /// The links of a place that may not have been published to `media-events` yet.
    func unannounced(of place: MediaPlace) async throws -> [MediaEvent] {
        let rows = try await client.query(
            """
            select r.digest, r.partition, r.revision, o.size, o.content_type
            from partita.media_references r join partita.media_objects o using (app, digest)
            where r.app = $1 and database = $2 and collection = $3 and _id = $4 and path = $5 and state = 'linked'
            """, place.parameters)
        return try rows.map { row in
            let (digest, partition, revision, size, type) = try row.decode((String, String, String, Int64, String).self)
            return try event(.offloaded, place, digest, partition, revision, size: size, contentType: type)
        }
    }

    func announced(_ event: MediaEvent, at place: MediaPlace) async throws {
        try await client.execute(
            """
            update partita.media_references set state = 'announced'
            where app = $1 and database = $2 and collection = $3 and _id = $4 and path = $5 and digest = $6
                and revision = $7 and state = 'linked'
            """, place.parameters + [.text(event.object), .text(event.revision.description)])
    }

    private func event(
        _ kind: MediaEvent.Kind, _ place: MediaPlace, _ digest: String, _ partition: String, _ revision: String,
        size: Int64, contentType: String
    ) throws -> MediaEvent {
        guard let revision = Revision(revision) else {
            throw PostgresError(.decoding, "\(revision) is no revision")
        }
        return MediaEvent(
            app: place.app, kind: kind, namespace: place.namespace, documentKey: place.documentKey,
            partition: Partition(text: partition), revision: revision, path: place.path, object: digest, size: size,
            contentType: contentType, time: WallClock.system.now())
    }

    // MARK: Opening

    /// The object that a link refers to, if this service has recorded the document's reference; a link that a client made up has
    /// none, nor has one that was written into a later document under the same `_id`.
    /// - Parameter insertion: The document's insertion number.
    func object(of link: MediaLink, insertion: Int64) async throws -> StoredObject? {
        let rows = try await client.query(
            """
            select object, content_type, size from partita.media_objects o
            where app = $1 and digest = $5 and is_stored and exists (
                select from partita.media_references r
                where r.app = $1 and database = $2 and collection = $3 and _id = $4 and r.digest = $5
                    and coalesce(insertion = $6, true))
            """,
            [
                .text(link.app), .text(link.namespace.database), .text(link.namespace.collection), .text(link.id),
                .text(link.digest), .int(insertion),
            ])
        return try rows.first.map { row in
            let (key, type, size) = try row.decode((String, String, Int).self)
            return StoredObject(key: key, contentType: type, size: size)
        }
    }
}

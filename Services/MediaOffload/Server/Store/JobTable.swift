import DocumentModel
import EventTopics
import Postgres

/// `partita.media_jobs`: the jobs that aren't done.
struct JobTable: Sendable {
    let client: PostgresClient

    /// Stores jobs. A newer job for the same place replaces the older one, since a job uses the document's current state anyway.
    func add(_ jobs: [MediaJob]) async throws {
        _ = try await client.pipeline(
            jobs.map { job in
                PostgresStatement(
                    """
                    insert into partita.media_jobs as j (app, database, collection, _id, path, kind, job_id, job)
                    values ($1, $2, $3, $4, $5, $6, $7, $8)
                    on conflict (app, database, collection, _id, path, kind) do update set
                        job_id = excluded.job_id, job = excluded.job, created_at = now(), resend_at = excluded.resend_at
                    where j.job_id <> excluded.job_id
                    """,
                    job.place.parameters + [
                        .text(job.kind.rawValue), .text(job.eventID),
                        .text(ExtendedJSON.print(.document(job.encoded()), mode: .canonical)),
                    ])
            })
    }

    func done(_ jobs: [MediaJob]) async throws {
        try await client.execute(
            "delete from partita.media_jobs where job_id = any($1::text[])", [.textArray(jobs.map(\.eventID))])
    }

    /// Jobs that have been open for long. After each call, the returned jobs are not returned again before their age has doubled.
    func overdue(limit: Int) async throws -> [MediaJob] {
        let rows = try await client.query(
            """
            update partita.media_jobs set resend_at = now() + greatest(now() - created_at, interval '1 minute')
            where job_id in (
                select job_id from partita.media_jobs where resend_at < now() order by resend_at limit $1
                for update skip locked)
            returning job
            """, [.int(Int64(limit))])
        return try rows.decode(String.self).map { text in
            try MediaJob(
                ExtendedJSON.parseDocument(text),
                attributes: EventAttributes(
                    id: "", source: "", type: MediaJob.topic.contract.types[0], subject: "", time: 0))
        }
    }

}

extension MediaJob {
    var place: MediaPlace {
        MediaPlace(app: app, namespace: namespace, documentKey: documentKey, path: path)
    }
}

extension MediaPlace {
    /// App, database, collection, `_id`, path.
    var parameters: [PostgresValue] {
        [.text(app), .text(namespace.database), .text(namespace.collection), .text(id), .text(path)]
    }
}

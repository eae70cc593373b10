import AWSSigning
import AppDefinition
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Logging
import Metrics

/// Processes one media field of a document: moves its binary into the object store and writes a link in its place, and removes the
/// objects from the store that the document no longer refers to.
///
/// It uses the current document, not the state in the job, so a job that arrives twice, late, or after a newer one is harmless. The
/// document has the picture or the link at any time.
struct MediaMover: Sendable {
    let store: DocumentStore
    let storage: any ObjectStorage
    let table: MediaTable
    let events: EventProducer
    /// The service's URL in links.
    let publicURL: String
    let logger: Logger
    let thumbnailer: Thumbnailer

    /// The number of attempts for a document that concurrent writers keep changing.
    private static let attempts = 5

    /// - Parameter fields: All media fields of the document, `field` included.
    func settle(_ field: MediaField, of fields: [MediaField], for job: MediaJob) async throws {
        let collection = collection(of: job)
        for attempt in 1... {
            guard let found = try await collection.findOne(["_id": job.documentKey]),
                let binary = field.binary(in: found)
            else { break }
            guard attempt <= Self.attempts else {
                throw MediaOffloadError(code: .superseded, message: "others keep writing \(job.subject)")
            }
            try await offload(binary, of: found, field, for: job, in: collection)
        }
        try await keepLinks(of: fields, for: job)
        try await announceLinks(of: job.place)
        try await removeGarbage(of: job.place)
    }

    /// Gives up a job that can't be done: what was stored for it is removed.
    func giveUp(_ job: MediaJob, of fields: [MediaField]) async throws {
        try await keepLinks(of: fields, for: job)
        try await removeGarbage(of: job.place)
    }

    private func collection(of job: MediaJob) -> DocumentCollection {
        store.collection(job.namespace.collection, database: job.namespace.database, app: job.app)
    }

    private func keepLinks(of fields: [MediaField], for job: MediaJob) async throws {
        let collection = collection(of: job)
        try await table.keep(for: job) { transaction in
            let found = try await collection.numbered(job.documentKey, in: transaction)
            // A link may be in another of the document's fields than the one that the bytes came from.
            return (fields.compactMap { job.place.digest(of: $0.link(in: found?.document)) }, found?.insertion)
        }
    }

    private func offload(
        _ binary: Binary, of document: Document, _ field: MediaField, for job: MediaJob,
        in collection: DocumentCollection
    ) async throws {
        let start = ContinuousClock.now
        let digest = SHA256.hex(binary.bytes)
        let object = try await table.reserve(
            digest, size: binary.bytes.count, contentType: ContentType.sniff(binary.bytes), for: job)
        // What the store has lost, wholly or in part, would otherwise be taken for stored for ever.
        let isThere = object.isStored ? try await storage.size(of: object.key) == binary.bytes.count : false
        if !isThere {
            try await storage.put(object.key, binary.bytes, contentType: object.contentType)
            try await table.stored(object)
        }
        let link = MediaLink(app: job.app, namespace: job.namespace, id: job.place.id, digest: digest)
        var filter: Document = ["_id": job.documentKey, field.field: .binary(binary)]
        var set: Document = [field.linkField: .string(link.url(base: publicURL))]
        var unset: Document = [field.field: ""]
        var thumbnail: [UInt8]?
        if let path = field.thumbnailField {
            let present = document.value(at: Path(path)) ?? .null
            if try await mayReplace(present, at: job.place) {
                // One that is written meanwhile isn't overwritten.
                filter[path] = present
                thumbnail = try await self.thumbnail(of: binary, for: field, of: job.app)
                if let thumbnail { set[path] = .binary(Binary(thumbnail)) } else { unset[path] = "" }
            }
        }
        let made = thumbnail.map { SHA256.hex($0) }
        let result = try await collection.updateOne(
            filter, .document(["$set": .document(set), "$unset": .document(unset)])
        ) { transaction in
            try await DocumentStore.continueTriggerChain(
                of: job.revision, in: job.partition, app: job.app, transaction)
            let insertion = try await collection.insertionNumber(of: job.documentKey, in: transaction)
            // Without a document there is no link: the next attempt finds out.
            try await table.link(digest, object, insertion: insertion ?? 0, thumbnail: made, for: job, in: transaction)
        }
        guard result.modifiedCount > 0 else { return }  // written meanwhile: the next attempt reads it again
        MediaOffloadMetrics.offloaded.increment()
        MediaOffloadMetrics.offloadedBytes.increment(by: binary.bytes.count)
        MediaOffloadMetrics.offloadSeconds.record(ContinuousClock.now - start)
    }

    /// Whether there is no thumbnail, or one that was made here, of a former picture; that of an app stays.
    private func mayReplace(_ thumbnail: Value, at place: MediaPlace) async throws -> Bool {
        if thumbnail.isNull { return true }
        guard let bytes = thumbnail.binaryValue?.bytes else { return false }
        return try await table.hasMade(thumbnail: SHA256.hex(bytes), at: place)
    }

    /// `nil` when none can be made.
    private func thumbnail(of binary: Binary, for field: MediaField, of app: String) async throws -> [UInt8]? {
        let thumbnail = try await thumbnailer.thumbnail(of: binary.bytes, size: field.thumbnailPixels, for: app)
        if thumbnail == nil {
            MediaOffloadMetrics.failedThumbnails.increment()
            logger.info("no thumbnail can be made of a picture", metadata: ["media.field": "\(field.field)"])
        }
        return thumbnail
    }

    private func announceLinks(of place: MediaPlace) async throws {
        for event in try await table.unannounced(of: place) {
            try await events.send(event)
            try await table.announced(event, at: place)
        }
    }

    private func removeGarbage(of place: MediaPlace) async throws {
        for (key, event) in try await table.garbage(of: place) {
            try await storage.delete(key)
            try await events.send(event)
            try await table.removed(key)
            MediaOffloadMetrics.removed.increment()
        }
    }
}

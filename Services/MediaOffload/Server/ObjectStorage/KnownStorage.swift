import AWSSigning
import EventLoop
import Foundation
import Logging
import Postgres
import ServiceEngines

/// The object store, once it is known to be the one that has the system's media. With another bucket or directory, for instance by a typing
/// mistake in the settings of one instance, what it moves couldn't be found by the others, and the links of others not by it: so none of
/// its operations is carried out.
///
/// The store has an object (`MediaStoreMark`) whose text is also in Postgres. Whoever copies all objects copies that, too, and the copy is
/// taken for the store then, as long as it has one of the three objects that were stored last: an old copy isn't it any more.
final class KnownStorage: ObjectStorage {
    private enum State { case unknown, known, foreign }

    private let storage: any ObjectStorage
    private let client: PostgresClient
    /// Whether a store that lacks the system's media takes the place of the one that had them.
    private let acceptsOther: Bool
    private let logger: Logger
    private let state = Locked(State.unknown)
    /// Whether the last look at the store failed.
    private let isFailing = Locked(false)

    init(_ storage: any ObjectStorage, client: PostgresClient, acceptsOther: Bool, logger: Logger) {
        self.storage = storage
        self.client = client
        self.acceptsOther = acceptsOther
        self.logger = logger
    }

    /// Returns when the store is known to be the right one.
    /// - Throws: ``ObjectStorageError`` with the code `foreign` when it is another one; or when it isn't known, since it can't be reached.
    func verify() async throws {
        if state.withLock({ $0 }) == .known { return }
        let expected = try await client.query("select id from partita.media_store").decode(String.self).first
        // Makes the bucket or directory, which isn't there at the first start; but none because of a wrong setting.
        if expected == nil || acceptsOther { try await storage.check() }
        let mark = try await storage.get(MediaStoreMark.key).map { String(decoding: $0, as: UTF8.self) }
        let isMarked = if let expected { mark == expected } else { true }
        let isRight = if isMarked { try await hasMedia() } else { false }
        if isRight || acceptsOther {
            if expected == nil || !isRight { try await adopt(mark, insteadOf: expected) }
            state.withLock { $0 = .known }
        } else {
            throw refusal()
        }
    }

    /// - Throws: when the store is known to be another one.
    func refuseForeign() async throws {
        do {
            try await verify()
        } catch let error as ObjectStorageError where error.code == .foreign {
            throw error
        } catch {}  // other checks say that it can't be reached
    }

    private func refusal() -> ObjectStorageError {
        let error = ObjectStorageError(
            code: .foreign,
            message: """
                it isn't the one that has this system's media: it lacks them, or its object \(MediaStoreMark.key) is another one. Correct the \
                settings, or copy all objects into it. If the media are lost, start once with media.accept-store
                """)
        let isNew = state.withLock { state in
            defer { state = .foreign }
            return state != .foreign
        }
        if isNew { logger.error("media aren't moved or opened", metadata: ["error": "\(error)"]) }
        return error
    }

    /// Whether the store has something of what was stored last, since it was accepted as the system's.
    private func hasMedia() async throws -> Bool {
        let newest = try await client.query(
            """
            select object from partita.media_objects
            where is_stored and created_at > coalesce((select adopted_at from partita.media_store), '-infinity')
            order by created_at desc limit 3
            """
        ).decode(String.self)
        // One or the other may be lost.
        for object in newest where try await storage.size(of: object) != nil { return true }
        return newest.isEmpty
    }

    /// Makes the store the system's. Other instances that do so at the same time wait, and then compare their stores with it.
    private func adopt(_ mark: String?, insteadOf former: String?) async throws {
        let id = mark ?? UUID().uuidString
        let isAdopted = try await client.withTransaction { [storage] transaction in
            let rows = try await transaction.query(
                """
                insert into partita.media_store as s (id) values ($1)
                on conflict (is_only) do update set id = excluded.id, adopted_at = now() where s.id = $2 returning id
                """, [.text(id), former.map { .text($0) } ?? .null])
            if !rows.isEmpty, mark == nil {
                try await storage.put(MediaStoreMark.key, Array(id.utf8), contentType: "text/plain")
            }
            return !rows.isEmpty
        }
        if !isAdopted { try await verify() }
    }

    // MARK: Operations

    func check() async throws {
        do {
            try await verify()
            try await storage.check()
        } catch let error as ObjectStorageError where error.code != .foreign {
            MediaOffloadMetrics.storageFailures.increment()
            if hasChanged(toFailing: true) {
                logger.error(
                    "the object store can't be used: media wait, and links to them fail",
                    metadata: ["error": "\(error)"])
            }
            throw error
        }
        if hasChanged(toFailing: false) { logger.notice("the object store can be used again") }
    }

    private func hasChanged(toFailing isFailing: Bool) -> Bool {
        self.isFailing.withLock { state in
            defer { state = isFailing }
            return state != isFailing
        }
    }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        try await verify()
        try await storage.put(key, bytes, contentType: contentType)
    }

    func get(_ key: String) async throws -> [UInt8]? {
        try await verify()
        return try await storage.get(key)
    }

    func part(_ key: String, _ range: Range<Int>) async throws -> [UInt8]? {
        try await verify()
        return try await storage.part(key, range)
    }

    func size(of key: String) async throws -> Int? {
        try await verify()
        return try await storage.size(of: key)
    }

    func delete(_ key: String) async throws {
        try await verify()
        try await storage.delete(key)
    }

    func signedURL(
        _ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant
    ) async throws -> String? {
        try await verify()
        return try await storage.signedURL(method, key, lifetime: lifetime, now: now)
    }
}

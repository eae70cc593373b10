import AccessTokens
import EventLoop
import EventStream
import Kafka
import Logging
import Postgres
import TestSupport
import Testing

@testable import Auth

/// Rotation on a database of its own, by a clock of its own.
@Suite struct SigningKeyTests {
    private func withKeys(
        _ body: (_ ring: SigningKeyRing, _ now: Locked<Int64>, _ store: AccountStore) async throws -> Void
    ) async throws {
        let engines = try await TestEngines.shared()
        let loops = LoopGroup(1)
        let client = PostgresClient(
            configuration: PostgresConfiguration(url: try await engines.makeDatabase()), on: loops)
        let running = Task { try await client.run() }
        defer { running.cancel() }
        let store = AccountStore(client: client)
        try await AccountStore.migrations.apply(on: client)
        let now = Locked<Int64>(1_800_000_000_000)
        let producer = KafkaProducer(configuration: engines.kafka, loop: loops.next())
        let ring = try SigningKeyRing(
            store: store, box: SecretBox(secret: "s"),
            schedule: SigningKeyRing.Schedule(rotation: 1000, lead: 100, longestToken: 5000),
            producer: EventProducer(producer, pool: engines.makePool()), clock: AuthClock { now.withLock { $0 } },
            logger: Logger(label: "keys"))
        try await body(ring, now, store)
        await producer.close()
    }

    private func claims(_ now: Int64, lifetime: Int64 = 5000) -> TokenClaims {
        TokenClaims(
            session: "s", user: "u", device: "d", app: "a", type: .access, issuedAt: now / 1000,
            expiresAt: now / 1000 + lifetime)
    }

    @Test func `a key is known before it signs, and for as long as its tokens live`() async throws {
        try await withKeys { ring, now, _ in
            try await ring.refresh()
            #expect(ring.keySet.keys.count == 1)
            let first = try #require(ring.keySet.keys.first)
            let start = now.withLock { $0 }
            let token = try ring.sign(claims(start))

            now.withLock { $0 = start + 900_000 }
            try await ring.refresh()
            #expect(ring.keySet.keys.count == 2)
            let second = try #require(ring.keySet.keys.last)
            // The first still signs.
            let stillFirst = try TokenVerifier(keys: TokenKeySet([first]))
            _ = try stillFirst.verify(try ring.sign(claims(start + 900_000)), now: start / 1000 + 900)

            now.withLock { $0 = start + 1_000_000 }
            try await ring.refresh()
            let nowSecond = try TokenVerifier(keys: TokenKeySet([second]))
            _ = try nowSecond.verify(try ring.sign(claims(start + 1_000_000)), now: start / 1000 + 1000)
            _ = try ring.verifier.verify(token, now: start / 1000 + 4999)

            now.withLock { $0 = start + 7_000_000 }
            try await ring.refresh()
            #expect(!ring.keySet.keys.contains(first))
        }
    }

    @Test func `two processes that start at once agree on one key`() async throws {
        try await withKeys { ring, _, store in
            async let first: Void = ring.refresh()
            async let second: Void = ring.refresh()
            _ = try await (first, second)
            #expect(try await store.tables.signingKeys().count == 1)
        }
    }

    @Test func `a sealed key opens with its own secret only`() throws {
        let sealed = SecretBox(secret: "one").seal("the key")
        #expect(!sealed.contains("the key"))
        #expect(try SecretBox(secret: "one").open(sealed) == "the key")
        #expect(throws: StoredKeyError.self) { try SecretBox(secret: "two").open(sealed) }
        #expect(throws: StoredKeyError.self) { try SecretBox(secret: nil).open(sealed) }
        #expect(try SecretBox(secret: nil).open(SecretBox(secret: nil).seal("plain")) == "plain")
    }
}

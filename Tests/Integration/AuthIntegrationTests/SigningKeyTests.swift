import AccessTokens
import AppRegistry
import DocumentModel
import EventLoop
import EventStream
import HTTPServer
import Kafka
import Logging
import Postgres
import Secrets
import ServiceBootstrap
import TestSupport
import Testing

@testable import Auth

/// Rotation on a database of its own, by a clock of its own.
@Suite struct SigningKeyTests {
    private func withKeys(
        _ body: (_ ring: SigningKeyRing, _ now: Locked<Int64>, _ store: AccountStore) async throws -> Void
    ) async throws {
        try await withKeys { make, now, store in try await body(try make(["a secret"]), now, store) }
    }

    /// With rings of any secrets on one database.
    private func withKeys(
        _ body: (_ make: ([String]) throws -> SigningKeyRing, _ now: Locked<Int64>, _ store: AccountStore) async throws
            -> Void
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
        let pool = engines.makePool()
        try await body(
            { secrets in
                try SigningKeyRing(
                    store: store, secrets: KeyRing(secrets),
                    schedule: SigningKeyRing.Schedule(rotation: 1000, lead: 100, longestToken: 5000),
                    producer: EventProducer(producer, pool: pool), clock: WallClock { now.withLock { $0 } },
                    logger: Logger(label: "keys"))
            }, now, store)
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

    @Test func `a start with a clock that was ahead doesn't end sign-in`() async throws {
        try await withKeys { ring, now, _ in
            let start = now.withLock { $0 }
            try await ring.refresh()
            now.withLock { $0 = start + 9_000_000 }
            try await ring.refresh()
            // Until the wrong time has come, and for a while after it.
            for seconds: Int64 in stride(from: 0, through: 18_000, by: 250) {
                let present = start + seconds * 1000
                now.withLock { $0 = present }
                try await ring.refresh()
                _ = try ring.verifier.verify(try ring.sign(claims(present)), now: present / 1000)
            }
            #expect(ring.keySet.keys.count < 20)
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

    @Test func `keys move to a new secret automatically, also from plain text, and go on signing`() async throws {
        try await withKeys { make, now, store in
            let first = try make(["the old secret"])
            try await first.refresh()
            let token = try first.sign(claims(now.withLock { $0 }))
            func stored() async throws -> String { try #require(try await store.tables.signingKeys().first).privateKey }
            // As earlier versions stored it, without a secret.
            let key = try #require(try await store.tables.signingKeys().first)
            try await store.tables.setPrivateKey(try KeyRing(["the old secret"]).open(key.privateKey), of: key.id)
            #expect(try await stored().contains("kty"))

            try await first.refresh()
            #expect(KeyRing(["the old secret"]).isCurrent(try await stored()))
            let second = try make(["the new secret", "the old secret"])
            try await second.refresh()
            #expect(KeyRing(["the new secret"]).isCurrent(try await stored()))
            // The old secret isn't needed any more.
            let third = try make(["the new secret"])
            try await third.requireReadable()
            try await third.refresh()
            _ = try third.verifier.verify(token, now: now.withLock { $0 } / 1000)
        }
    }

    @Test func `a missing secret is reported at the start`() async throws {
        try await withKeys { make, _, _ in
            try await make(["the old secret"]).refresh()
            let error = await #expect(throws: ConfigurationError.self) {
                try await make(["the new secret"]).requireReadable()
            }
            #expect(error?.description.contains("encryption.keys") == true)
        }
    }

    /// Otherwise each restart of auth while the broker is away would sign users out.
    @Test func `a token isn't called invalid before the keys are loaded`() async throws {
        try await withKeys { make, now, _ in
            let other = try make(["a secret"])
            try await other.refresh()
            let loop = EventLoop(name: "keys"), time = now.withLock { $0 }
            let apps = AppDirectory(
                registry: AppRegistry(
                    client: PostgresClient(
                        configuration: PostgresConfiguration(url: "postgres://127.0.0.1:1/none"), on: LoopGroup(1)),
                    keys: KeyRing(["a secret"])))
            let starting = try make(["a secret"])
            let routes = RouteSupport(apps: apps, hosting: nil, keys: starting, clock: WallClock { time })
            func code(_ token: String) -> AuthError.Code? {
                let request = HTTPRequest(
                    method: .post, target: "/", headers: ["Authorization": "Bearer \(token)"], loop: loop)
                do {
                    _ = try routes.claims(request, .access)
                    return nil
                } catch {
                    return (error as? AuthError)?.code
                }
            }
            let token = try other.sign(claims(time))
            #expect(code(token) == .serviceUnavailable)
            try await starting.refresh()
            #expect(code(token) == .serviceUnavailable, "the apps aren't loaded")
            #expect(code("x" + token) == .invalidSession)
        }
    }
}

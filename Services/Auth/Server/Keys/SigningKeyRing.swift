import AccessTokens
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Lifecycle
import Logging
import Secrets
import ServiceBootstrap

/// The keys that tokens are signed with: creates, rotates, publishes and deletes them.
///
/// A key is published some time before it signs, so that every service has it by then, and stays published until the last token
/// that it signed has expired. Several processes share the keys through Postgres.
final class SigningKeyRing: Service {
    /// The times, in seconds.
    struct Schedule: Sendable {
        /// How long a key signs.
        var rotation: Int64 = 30 * 86_400
        /// How long a key is published before it signs.
        var lead: Int64 = 600
        /// How long the longest token lives.
        var longestToken: Int64 = 60 * 86_400
    }

    private struct State {
        var signing: TokenSigningKey?
        var published: [(key: TokenPublicKey, row: SigningKeyRow)] = []
        /// Decrypted keys by id, so that each is read once.
        var opened: [ExactText: TokenSigningKey] = [:]
    }

    /// Verifies the tokens of all keys that are known.
    let verifier: TokenVerifier
    private let store: AccountStore
    private let secrets: KeyRing
    private let schedule: Schedule
    private let producer: EventProducer
    private let clock: WallClock
    private let refreshInterval: Duration
    private let logger: Logger
    private let state = Locked(State())
    private let turns = Alarm()

    init(
        store: AccountStore, secrets: KeyRing, schedule: Schedule = Schedule(), producer: EventProducer,
        clock: WallClock,
        refreshInterval: Duration = .seconds(30), logger: Logger
    ) throws {
        verifier = try TokenVerifier()
        self.store = store
        self.secrets = secrets
        self.schedule = schedule
        self.producer = producer
        self.clock = clock
        self.refreshInterval = refreshInterval
        self.logger = logger
    }

    /// The keys to publish.
    var keySet: TokenKeySet { state.withLock { TokenKeySet($0.published.map(\.key)) } }

    /// - Throws: `serviceUnavailable` before the keys are loaded.
    func check() throws {
        guard state.withLock({ $0.signing != nil }) else {
            throw AuthError(.serviceUnavailable, "the signing keys aren't loaded yet")
        }
    }

    /// Signs a token.
    ///
    /// - Throws: `serviceUnavailable` before the keys are loaded.
    func sign(_ claims: TokenClaims) throws -> String {
        guard let key = state.withLock({ $0.signing }) else {
            throw AuthError(.serviceUnavailable, "the signing keys aren't loaded yet")
        }
        return try key.sign(claims)
    }

    /// Loads the keys, makes what is missing, and forgets what has expired.
    func refresh() async throws {
        let now = clock.now()
        let rows = try await store.transaction { tables in
            try await tables.lockSigningKeys()
            var rows = try await tables.signingKeys()
            for row in rows where row.expiresAt <= now { try await tables.deleteSigningKey(row.id) }
            rows.removeAll { $0.expiresAt <= now }
            try await reseal(&rows, in: tables)
            // The next key is due when the newest one will have signed for its time at the end of the lead; and at once if none signs, as
            // after a start with a clock that was far ahead.
            let isSigning = rows.contains { $0.signsFrom <= now }
            let newest = rows.last?.signsFrom ?? 0
            if !isSigning || newest + schedule.rotation * 1000 <= now + schedule.lead * 1000 {
                let signsFrom = isSigning ? now + schedule.lead * 1000 : now
                let row = try makeKey(signsFrom: signsFrom)
                try await tables.insertSigningKey(row, now: now)
                rows.append(row)
                logger.notice("signing key made", metadata: ["key.id": "\(row.id)"])
            }
            return rows
        }
        try take(rows, now: now)
    }

    /// Encrypts with the current secret what is stored otherwise: in plain text, or with a former one.
    private func reseal(_ rows: inout [SigningKeyRow], in tables: AccountTables) async throws {
        for index in rows.indices where !secrets.isCurrent(rows[index].privateKey) {
            rows[index].privateKey = try secrets.seal(try secrets.open(rows[index].privateKey))
            try await tables.setPrivateKey(rows[index].privateKey, of: rows[index].id)
            logger.notice("signing key encrypted with the current secret", metadata: ["key.id": "\(rows[index].id)"])
        }
    }

    /// - Throws: `ConfigurationError` when a key is stored that the configured secrets don't open: no user could
    ///   sign in. Errors of Postgres when it is unavailable.
    func requireReadable() async throws {
        for row in try await store.tables.signingKeys() {
            do { _ = try secrets.open(row.privateKey) } catch {
                throw ConfigurationError(
                    key: "encryption.keys",
                    "the signing key \(row.id) can't be read: \(error.message); put the secret that it was stored with behind the current one"
                )
            }
        }
    }

    private func makeKey(signsFrom: Int64) throws -> SigningKeyRow {
        let key = try TokenSigningKey(generatingWithId: ObjectId().hexString)
        return SigningKeyRow(
            id: key.id, privateKey: try secrets.seal(try key.privateJWK()), signsFrom: signsFrom,
            expiresAt: signsFrom + (schedule.rotation + schedule.lead + schedule.longestToken) * 1000)
    }

    private func take(_ rows: [SigningKeyRow], now: Int64) throws {
        var opened = state.withLock { $0.opened }
        for row in rows where opened[row.id] == nil {
            opened[row.id] = try TokenSigningKey(privateJWK: try secrets.open(row.privateKey))
        }
        let published = rows.compactMap { row in opened[row.id].map { (key: $0.publicKey, row: row) } }
        try verifier.replaceKeys(TokenKeySet(published.map(\.key)))
        let signing = rows.last { $0.signsFrom <= now }.flatMap { opened[$0.id] }
        let ids = Set(texts: rows.map(\.id))
        let kept = opened.filter { ids.contains($0.key) }
        state.withLock { state in
            state.signing = signing
            state.published = published
            state.opened = kept
        }
    }

    /// Sends all keys to the topic. It is compacted, so sending again costs nothing, and repairs a broker that forgot.
    private func publish() async throws {
        for (key, row) in state.withLock({ $0.published }) {
            let event = SigningKeyEvent(keyID: key.id, jwk: key.jwk, notBefore: row.signsFrom, expires: row.expiresAt)
            try await producer.send(event)
        }
    }

    /// Sends all keys at once: the topic has been created again.
    func publishAgain() { turns.set() }

    /// Keeps the keys up to date and published until graceful shutdown or cancellation.
    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    await self.turn()
                    // Until the keys are there, no user can sign in.
                    let pause = self.state.withLock { $0.signing == nil } ? Duration.seconds(1) : self.refreshInterval
                    self.turns.set(.now + pause)
                    try await self.turns.ring()
                }
            }
        } catch is CancellationError {
            // It ends by cancellation.
        }
    }

    private func turn() async {
        do {
            try await refresh()
            try await publish()
        } catch is CancellationError {
            return
        } catch {
            logger.warning("signing keys can't be kept up", metadata: ["error": "\(error)"])
        }
    }
}

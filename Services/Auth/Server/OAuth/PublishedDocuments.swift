import AccessTokens
import DocumentModel
import HTTPClient
import Logging

/// How long documents of issuers are kept.
struct PublicationLimits: Sendable {
    /// Between two attempts to fetch a document.
    var pause = Duration.seconds(10)
    /// How long a document is valid at least and at most, and without `Cache-Control`.
    var shortest = Duration.seconds(60)
    var longest = Duration.seconds(86_400)
    var usual = Duration.seconds(600)
    /// For how long the last document is used while a newer one can't be fetched.
    var stale = Duration.seconds(86_400)
    /// How many documents are kept; beyond them, the one is forgotten whose last attempt is oldest.
    var documents = 1000
}

/// The key sets of issuers.
typealias PublishedKeys = PublishedDocuments<[ForeignTokenKey]>

/// Documents that issuers publish (key sets, and metadata), fetched by HTTP and cached.
///
/// A document is cached for as long as its `Cache-Control` says, within bounds, and is fetched again before that when a newer one is
/// wanted, such as when a token names a key that isn't in a set; at most once per `pause`. While an issuer is unavailable, its last
/// document is used.
actor PublishedDocuments<Content: Sendable> {
    private struct Entry {
        var content: Content?
        var fetchedAt: ContinuousClock.Instant?
        var goodFor = Duration.zero
        var triedAt: ContinuousClock.Instant?
        var lastError: any Error = IssuerUnavailableError(message: "not fetched yet")
        /// The fetch in flight, which all waiting callers share.
        var fetching: Task<Void, Never>?
    }

    private let client: IssuerClient
    private let limits: PublicationLimits
    private let logger: Logger
    private let read: @Sendable (Document) throws -> Content
    private var entries: [ExactText: Entry] = [:]

    /// - Parameter read: makes the content of a document, or throws when it isn't one of the kind.
    init(
        client: IssuerClient, limits: PublicationLimits = PublicationLimits(), logger: Logger,
        read: @escaping @Sendable (Document) throws -> Content
    ) {
        self.client = client
        self.limits = limits
        self.logger = logger
        self.read = read
    }

    /// The content of a document.
    ///
    /// - Parameter isNewerWanted: the one that is known lacks something.
    /// - Throws: `IssuerUnavailableError` when there is none, and none can be fetched; `PlainIssuerError` for a URL that isn't `https:`.
    func content(at url: String, isNewerWanted: Bool = false) async throws -> Content {
        let now = ContinuousClock.now
        let entry = entries[url] ?? Entry()
        let isGood = entry.fetchedAt.map { now - $0 < entry.goodFor } ?? false
        let mayTry = entry.triedAt.map { now - $0 >= limits.pause } ?? true
        if let fetching = entry.fetching {
            if isNewerWanted || !isGood { await fetching.value }
        } else if isNewerWanted || !isGood, mayTry {
            makeRoom()
            // Shared by all waiting callers, so it isn't cancelled with one of them. It ends by the client's timeout.
            let fetching = Task { await fetch(url) }
            entries[url, default: Entry()].fetching = fetching
            entries[url, default: Entry()].triedAt = now
            await fetching.value
        }
        guard let latest = entries[url], let content = latest.content, let fetchedAt = latest.fetchedAt,
            ContinuousClock.now - fetchedAt < max(limits.stale, latest.goodFor)
        else { throw entries[url]?.lastError ?? IssuerUnavailableError(message: "not fetched yet") }
        return content
    }

    private func makeRoom() {
        guard entries.count >= limits.documents else { return }
        let idle = entries.filter { $0.value.fetching == nil }
        let oldest = idle.min { ($0.value.triedAt ?? .now) < ($1.value.triedAt ?? .now) }
        if let oldest { entries[oldest.key] = nil }
    }

    private func fetch(_ url: String) async {
        do {
            let answer = try await client.send(
                HTTPClient.Request(url: url, headers: [.init("Accept", "application/json")]))
            guard answer.status == 200 else {
                throw IssuerUnavailableError(message: "\(url) answered with status \(answer.status)")
            }
            entries[url, default: Entry()].content = try read(answer.document)
            entries[url, default: Entry()].fetchedAt = .now
            entries[url, default: Entry()].goodFor = goodFor(answer.cacheControl)
            logger.info("an issuer's document is fetched", metadata: ["url": "\(url)"])
        } catch let error as PlainIssuerError {
            entries[url, default: Entry()].lastError = error
        } catch {
            entries[url, default: Entry()].lastError =
                error as? IssuerUnavailableError ?? IssuerUnavailableError(message: "\(url): \(error)")
        }
        entries[url]?.fetching = nil
    }

    private func goodFor(_ cacheControl: String?) -> Duration {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { $0.filter { $0 != " " } }
        let age = directives.lazy.compactMap { $0.hasPrefix("max-age=") ? Int64($0.dropFirst(8)) : nil }.first
        return age.map { min(max(.seconds($0), limits.shortest), limits.longest) } ?? limits.usual
    }
}

extension PublishedDocuments<[ForeignTokenKey]> {
    init(client: IssuerClient, limits: PublicationLimits = PublicationLimits(), logger: Logger) {
        self.init(client: client, limits: limits, logger: logger) { try ForeignTokenKey.keys(jwks: $0) }
    }

    /// The claims of a token that a key of a set has signed. A newer set is fetched when the token names a key that isn't in the known
    /// one, and when the only key of a set, which need not be named, doesn't fit.
    ///
    /// - Parameter issuers: the values of `iss` that are accepted; `nil` for all.
    /// - Throws: `AccessTokenError` with the reason of a refusal; what `content(at:isNewerWanted:)` throws.
    func claims(
        of token: String, keysAt url: String, audience: ForeignTokenVerifier.Audience, issuers: [String]? = nil,
        now: Int64
    ) async throws -> Document {
        func verifier(isNewerWanted: Bool) async throws -> ForeignTokenVerifier {
            ForeignTokenVerifier(
                keys: try await content(at: url, isNewerWanted: isNewerWanted), audience: audience, issuers: issuers,
                arePublished: true)
        }
        let known = try await verifier(isNewerWanted: false)
        switch try known.match(of: token) {
        case .certain: return try known.verify(token, now: now)
        case .guessed:
            do { return try known.verify(token, now: now) } catch {
                guard [.signatureInvalid, .algorithmRefused].contains(error.code) else { throw error }
            }
        case .none: break
        }
        return try await verifier(isNewerWanted: true).verify(token, now: now)
    }
}

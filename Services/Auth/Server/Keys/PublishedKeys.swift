import AccessTokens
import DocumentModel
import EventLoop
import HTTPClient
import Logging

/// The key sets that issuers publish, fetched by HTTP and cached.
///
/// A set is cached for as long as its `Cache-Control` says, within bounds, and is fetched again before that when a token names a key that
/// isn't in it; at most once per `pause`. While an issuer is unavailable, its last set is used.
actor PublishedKeys {
    /// How long sets are kept.
    struct Limits: Sendable {
        /// Between two attempts to fetch a set.
        var pause = Duration.seconds(10)
        /// How long a set is valid at least and at most, and without `Cache-Control`.
        var shortest = Duration.seconds(60)
        var longest = Duration.seconds(86_400)
        var usual = Duration.seconds(600)
        /// For how long the last set is used while a newer one can't be fetched.
        var stale = Duration.seconds(86_400)
    }

    private struct Entry {
        var keys: [ForeignTokenKey]?
        var fetchedAt: ContinuousClock.Instant?
        var goodFor = Duration.zero
        var triedAt: ContinuousClock.Instant?
        var lastError = PublishedKeysError(message: "not fetched yet")
        /// The fetch in flight, which all waiting callers share.
        var fetching: Task<Void, Never>?
    }

    private let http: HTTPClient
    private let allowsPlain: Bool
    private let limits: Limits
    private let logger: Logger
    private var entries: [ExactText: Entry] = [:]
    private static let maximumBytes = 256 << 10

    /// - Parameters:
    ///   - allowsPlain: whether sets are fetched by `http:` too.
    ///   - egress: where sets are fetched from.
    init(loop: EventLoop, allowsPlain: Bool, limits: Limits = Limits(), egress: EgressPolicy, logger: Logger) {
        self.allowsPlain = allowsPlain
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .seconds(5)
        configuration.connectTimeout = .seconds(3)
        configuration.maximumResponseBytes = Self.maximumBytes
        configuration.egress = egress
        http = HTTPClient(loop: loop, configuration: configuration)
        self.limits = limits
        self.logger = logger
    }

    /// The keys of a set.
    ///
    /// - Parameter isNewerWanted: the set that is known lacks a key.
    /// - Throws: `PublishedKeysError` when there is none, and none can be fetched; `PlainKeySetError` for a URL that isn't `https:`.
    func keys(at url: String, isNewerWanted: Bool = false) async throws -> [ForeignTokenKey] {
        guard allowsPlain || url.lowercased().hasPrefix("https://") else { throw PlainKeySetError(url: url) }
        let now = ContinuousClock.now
        let entry = entries[url] ?? Entry()
        let isGood = entry.fetchedAt.map { now - $0 < entry.goodFor } ?? false
        let mayTry = entry.triedAt.map { now - $0 >= limits.pause } ?? true
        if let fetching = entry.fetching {
            if isNewerWanted || !isGood { await fetching.value }
        } else if isNewerWanted || !isGood, mayTry {
            // Shared by all waiting callers, so it isn't cancelled with one of them. It ends by the client's timeout.
            let fetching = Task { await fetch(url) }
            entries[url, default: Entry()].fetching = fetching
            entries[url, default: Entry()].triedAt = now
            await fetching.value
        }
        guard let latest = entries[url], let keys = latest.keys, let fetchedAt = latest.fetchedAt,
            ContinuousClock.now - fetchedAt < max(limits.stale, latest.goodFor)
        else { throw entries[url]?.lastError ?? PublishedKeysError(message: "not fetched yet") }
        return keys
    }

    private func fetch(_ url: String) async {
        do {
            let response = try await http.send(
                HTTPClient.Request(url: url, headers: [.init("Accept", "application/json")]))
            guard response.status == 200 else {
                throw PublishedKeysError(message: "\(url) answered with status \(response.status)")
            }
            let keys = try ForeignTokenKey.keys(jwks: ExtendedJSON.parseDocument(response.body))
            entries[url, default: Entry()].keys = keys
            entries[url, default: Entry()].fetchedAt = .now
            entries[url, default: Entry()].goodFor = goodFor(response[header: "cache-control"])
            logger.info(
                "an issuer's keys are fetched", metadata: ["url": "\(url)", "count": .stringConvertible(keys.count)])
        } catch {
            entries[url, default: Entry()].lastError =
                error as? PublishedKeysError ?? PublishedKeysError(message: "\(url): \(error)")
        }
        entries[url]?.fetching = nil
    }

    private func goodFor(_ cacheControl: String?) -> Duration {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { $0.filter { $0 != " " } }
        let age = directives.lazy.compactMap { $0.hasPrefix("max-age=") ? Int64($0.dropFirst(8)) : nil }.first
        return age.map { min(max(.seconds($0), limits.shortest), limits.longest) } ?? limits.usual
    }
}

/// A key set that isn't fetched, since it could be changed in transit.
struct PlainKeySetError: Error, CustomStringConvertible {
    var url: String
    var description: String {
        "\(url) is not fetched: jwkURI must be https, or auth.allowPlainKeySets true (for development)"
    }
}

/// A key set that can't be fetched.
struct PublishedKeysError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}

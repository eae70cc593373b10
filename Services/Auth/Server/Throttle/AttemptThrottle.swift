import EventLoop
import Redis
import ServiceEngines
import Texts

/// Slows down guessing: attempts are counted, and each one beyond a free number makes the next wait twice as long. A success is not
/// counted in the end.
///
/// An attempt counts for the account and the address together, for the address, and for the account. The first slows a guesser
/// down without affecting other addresses; the last has a larger free number, against guesses from many addresses. A device that has
/// signed in to the account before has a count of its own instead, so that guesses from elsewhere don't lock it out.
///
/// An attempt is counted before it is made, so that many at once can't pass together.
struct AttemptThrottle: Sendable {
    /// What is attempted; each kind has counts of its own.
    enum Kind: String, Sendable {
        case signIn = "sign-in"
        case register, function, token, mail
        /// A call of the app's reset or confirmation function for an account.
        case accountFunction = "account-function"
        case apiKey = "api-key"
        case admin

        /// Whether the subject is what is guessed: then each guess has another one, and many use the right one at once.
        var subjectIsSecret: Bool {
            switch self {
            case .apiKey, .token, .function: true
            case .signIn, .register, .mail, .accountFunction, .admin: false
            }
        }
    }

    /// The caller of an attempt.
    struct Caller: Sendable {
        /// Empty when it isn't known.
        var address: String
        /// The device's id, if it has signed in to this account before.
        var knownDevice: String?
    }

    /// The limits for one kind of count.
    struct Limits: Sendable {
        /// Attempts that don't cause a wait.
        var free: Int
        /// The longest wait, in seconds.
        var longest: Int
        /// The seconds without an attempt after which a count expires.
        var memory: Int
    }

    private let store: ThrottleStore
    /// For an account and an address, or an account and a known device.
    private let pair: Limits
    private let address: Limits
    private let account: Limits

    /// - Parameters: the free attempts of an account and an address together, of an address, and of an account.
    init(store: ThrottleStore, freePerPair: Int, freePerAddress: Int, freePerAccount: Int) {
        self.store = store
        pair = Limits(free: freePerPair, longest: 900, memory: 3600)
        address = Limits(free: freePerAddress, longest: 60, memory: 900)
        account = Limits(free: freePerAccount, longest: 900, memory: 3600)
    }

    /// Counts an attempt.
    ///
    /// - Parameter subject: the account; only a digest of it is stored.
    /// - Throws: `tooManyRequests` with the seconds to wait.
    func attempt(_ kind: Kind, app: String, subject: String, caller: Caller) async throws {
        let counts = counts(kind, app: app, subject: subject, caller: caller)
        try await store.require(
            Self.script, keys: counts.map(\.key),
            arguments: counts.flatMap { [$0.limits.free, $0.limits.longest, $0.limits.memory] },
            "too many attempts")
    }

    /// Subtracts an attempt that succeeded from the counts.
    func succeeded(_ kind: Kind, app: String, subject: String, caller: Caller) async throws {
        try await store.counts.run(
            Self.successScript, keys: counts(kind, app: app, subject: subject, caller: caller).map(\.key))
    }

    /// Deletes the counts of an account from all addresses: its owner has proven otherwise who they are.
    func forgive(_ kind: Kind, app: String, subject: String) async throws {
        try await store.counts.run(Self.forgiveScript, keys: [accountKey(kind, app, subject)])
    }

    private func accountKey(_ kind: Kind, _ app: String, _ subject: String) -> String {
        "\(app):\(kind.rawValue):account:\(Self.digest(subject))"
    }

    /// The keys of an attempt's counts, the most specific one first.
    private func counts(
        _ kind: Kind, app: String, subject: String, caller: Caller
    ) -> [(key: String, limits: Limits)] {
        let base = "\(app):\(kind.rawValue)"
        if let device = caller.knownDevice {
            return [("\(base):device:\(Self.digest(subject)):\(Self.digest(device))", pair)]
        }
        let network = ClientNetwork(caller.address).text
        var pair = pair, account = account
        if kind.subjectIsSecret {
            pair.free = max(pair.free, address.free)
            account.free = max(account.free, address.free)
        }
        // A mail disturbs the account's owner wherever the request comes from.
        if kind == .mail { account.free = min(account.free, pair.free) }
        return [
            ("\(base):pair:\(Self.digest(subject)):\(network)", pair), ("\(base):address:\(network)", address),
            (accountKey(kind, app, subject), account),
        ]
    }

    private static func digest(_ text: String) -> String { Hex.text(Sodium.digest(text).prefix(16)) }

    private static let script = CountScript(redis: RedisScript(PackageResources.attempt_lua)) {
        counts, keys, arguments in
        let now = counts.now
        let wait = keys.map { counts[$0].until - now }.max() ?? 0
        if wait > 0 { return Int64(wait.rounded(.up)) }
        for (i, key) in keys.enumerated() {
            let (free, longest, memory) = (arguments[i * 3], arguments[i * 3 + 1], arguments[i * 3 + 2])
            var entry = counts[key]
            entry.count += 1
            if entry.count >= free {
                entry.until = now + Double(min(1 << min(entry.count - free, 20), longest) * 1000)
            }
            counts.set(key, entry, memory: Double(memory * 1000))
        }
        return 0
    }

    private static let successScript = CountScript(redis: RedisScript(PackageResources.success_lua), givesBack: true) {
        counts, keys, _ in
        if let own = keys.first { counts.remove(own) }
        for key in keys.dropFirst() {
            counts.change(key) { entry in
                guard entry.count > 0 else { return }
                entry.count -= 1
                entry.until = 0
            }
        }
        return 0
    }

    private static let forgiveScript = CountScript(redis: RedisScript(PackageResources.forgive_lua), givesBack: true) {
        counts, keys, _ in
        for key in keys { counts.remove(key) }
        return 0
    }
}

import DocumentModel

/// How many questions to permissions a device, a user with all devices, and an app may have under way in this process, and ask per time.
///
/// Each has as many as its limit at once, and gets as many anew in a minute. Questions that permissions answered already, in the table,
/// cost nothing: so it is who asks about what isn't decided, or was told no, that comes to the limits. Pure.
public struct QuestionBudget: Sendable {
    public struct Limits: Hashable, Sendable {
        public var device: Int
        public var user: Int
        public var app: Int

        public init(device: Int, user: Int, app: Int) {
            self.device = device
            self.user = user
            self.app = app
        }

        /// What a service allows unless it is told otherwise.
        public static let standard = Limits(device: 200, user: 400, app: 4000)
    }

    /// On whose behalf a question is asked.
    struct Askers: Hashable, Sendable {
        @ExactText var app: String
        @ExactText var user: String
        @ExactText var device: String

        fileprivate var accounts: [Account] { [.device(_app, _user, _device), .user(_app, _user), .app(_app)] }
    }

    /// A question that may not be asked now.
    public struct Exceeded: Error {
        /// Whose budget it is: `device`, `user` or `app`.
        public let whose: String
        /// For how long, about.
        public let wait: Duration

        public var message: String {
            "the \(whose) has asked for too many partitions that it may not open or that aren't decided; try again later"
        }
    }

    fileprivate enum Account: Hashable {
        case device(ExactText, ExactText, ExactText)
        case user(ExactText, ExactText)
        case app(ExactText)

        var name: String {
            switch self {
            case .device: "device"
            case .user: "user"
            case .app: "app"
            }
        }
    }

    private struct Balance {
        var underWay = 0
        /// Questions that may still be asked, at that time.
        var left: Double
        var time: ContinuousClock.Instant
    }

    private let limits: Limits
    private var balances: [Account: Balance] = [:]
    private var nextCleaning = 1024

    /// In which as many are given anew as the limit says.
    private static let period = Duration.seconds(60)
    /// To those who wait for answers that are under way.
    private static let shortWait = Duration.seconds(1)

    public init(_ limits: Limits) { self.limits = limits }

    /// A question begins; `end` follows.
    /// - Throws: `Exceeded`; then it costs nothing.
    mutating func begin(_ askers: Askers, now: ContinuousClock.Instant) throws(Exceeded) {
        var next: [(Account, Balance)] = []
        for account in askers.accounts {
            let limit = limit(of: account)
            var balance = balance(of: account, limit: limit, now: now)
            guard balance.underWay < limit else { throw Exceeded(whose: account.name, wait: Self.shortWait) }
            guard balance.left >= 1 else {
                let wait = Self.period * ((1 - balance.left) / Double(limit))
                throw Exceeded(whose: account.name, wait: max(wait, Self.shortWait))
            }
            balance.underWay += 1
            balance.left -= 1
            next.append((account, balance))
        }
        for (account, balance) in next { balances[account] = balance }
        clean(now: now)
    }

    /// A question has its answer, or has none.
    mutating func end(_ askers: Askers) {
        for account in askers.accounts { balances[account]?.underWay -= 1 }
    }

    private func limit(of account: Account) -> Int {
        switch account {
        case .device: limits.device
        case .user: limits.user
        case .app: limits.app
        }
    }

    private func balance(of account: Account, limit: Int, now: ContinuousClock.Instant) -> Balance {
        guard var balance = balances[account] else { return Balance(left: Double(limit), time: now) }
        balance.left = min(Double(limit), balance.left + (now - balance.time) / Self.period * Double(limit))
        balance.time = now
        return balance
    }

    /// Forgets who has asked nothing for so long that the budget is whole again.
    private mutating func clean(now: ContinuousClock.Instant) {
        guard balances.count > nextCleaning else { return }
        balances = balances.filter { $0.value.underWay > 0 || now - $0.value.time < Self.period }
        nextCleaning = max(1024, balances.count * 2)
    }
}

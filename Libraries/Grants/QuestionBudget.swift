import DocumentModel

/// Limits how many questions to permissions a device, and a user with all devices, may have in flight in this process, and how many they may
/// ask per minute. The questions of an app take turns by user (``GrantBook``).
///
/// Each may ask as many questions as its limit at once, and regains as many per minute. If the table already has a grant with
/// access, no question is needed: so the limits only affect callers that ask about undecided partitions or that were refused. A
/// value without I/O.
public struct QuestionBudget: Sendable {
    public struct Limits: Hashable, Sendable {
        public var device: Int
        public var user: Int
        /// How many questions of an app permissions gets at a time; others wait for their turn.
        public var app: Int

        public init(device: Int, user: Int, app: Int) {
            self.device = device
            self.user = user
            self.app = app
        }

        /// The default limits of a service.
        public static let standard = Limits(device: 200, user: 400, app: 500)
    }

    /// The device, user and app on whose behalf a question is asked.
    struct Askers: Hashable, Sendable {
        @ExactText var app: String
        @ExactText var user: String
        @ExactText var device: String

        fileprivate var accounts: [Account] { [.device(_app, _user, _device), .user(_app, _user)] }
    }

    /// A question that may not be asked now.
    public struct Exceeded: Error {
        /// Whose questions are too many: those of the `device`, the `user` or the `app`.
        public let whose: String
        /// About how long to wait before asking again.
        public let wait: Duration

        public var message: String {
            "the \(whose) has asked for too many partitions that it may not open or that aren't decided; try again later"
        }
    }

    fileprivate enum Account: Hashable {
        case device(ExactText, ExactText, ExactText)
        case user(ExactText, ExactText)

        var name: String {
            switch self {
            case .device: "device"
            case .user: "user"
            }
        }
    }

    private struct Balance {
        var underWay = 0
        /// The questions that might still be asked at `time`.
        var left: Double
        var time: ContinuousClock.Instant
    }

    let limits: Limits
    private var balances: [Account: Balance] = [:]
    private var nextCleaning = 1024

    /// The time in which a used-up budget is restored completely.
    private static let period = Duration.seconds(60)
    /// The wait when too many questions are in flight, and the shortest wait in any case.
    private static let shortWait = Duration.seconds(1)

    public init(_ limits: Limits) { self.limits = limits }

    /// Begins a question; `end` must follow.
    /// - Throws: `Exceeded`; then nothing is counted, and `end` isn't called.
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

    /// The refusal of a question whose turn doesn't come. The wait differs from one to the next, so that those who wait don't come back at
    /// once.
    static func crowded() -> Exceeded { Exceeded(whose: "app", wait: .milliseconds(Int.random(in: 4_000...12_000))) }

    /// Ends a question, whether it was answered or not.
    mutating func end(_ askers: Askers) {
        for account in askers.accounts { balances[account]?.underWay -= 1 }
    }

    private func limit(of account: Account) -> Int {
        switch account {
        case .device: limits.device
        case .user: limits.user
        }
    }

    private func balance(of account: Account, limit: Int, now: ContinuousClock.Instant) -> Balance {
        guard var balance = balances[account] else { return Balance(left: Double(limit), time: now) }
        balance.left = min(Double(limit), balance.left + (now - balance.time) / Self.period * Double(limit))
        balance.time = now
        return balance
    }

    /// Drops the accounts that have asked nothing for so long that their budgets are restored.
    private mutating func clean(now: ContinuousClock.Instant) {
        guard balances.count > nextCleaning else { return }
        balances = balances.filter { $0.value.underWay > 0 || now - $0.value.time < Self.period }
        nextCleaning = max(1024, balances.count * 2)
    }
}

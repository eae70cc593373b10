import DocumentModel
import DocumentStore
import Lifecycle
import Logging

/// Deletes accounts that nobody comes back to: anonymous ones that weren't used for long, since anybody can have any number of them, and
/// registrations that weren't confirmed. One instance at a time does it.
struct IdleAccounts: Service {
    let users: Users
    let leases: WorkLeases
    /// After which time without use an account goes; zero: never.
    let age: Duration
    let metrics: AuthMetrics
    let logger: Logger
    /// How many accounts of a kind go at a time. Each is an event, and one that all services remember for a day.
    var limit = 5000

    private static let interval = Duration.seconds(3600)
    private static let lease = Duration.seconds(60)
    private static let page = 500

    func run() async throws {
        await RepeatedSteps([("idle-accounts", sweep)], every: Self.interval, logger: logger).run()
    }

    /// Deletes those that are due, unless another instance does.
    func sweep() async throws {
        guard age > .zero else { return }
        let time = users.accounts.clock.now() - age.components.seconds * 1000
        _ = try await leases.hold(for: Self.lease) {
            let anonymous = try await deleteAnonymous(before: time)
            report(anonymous, of: "anonymous")
            let pending = try await deletePending(before: time)
            report(pending, of: "pending")
        }
    }

    private func deleteAnonymous(before time: Int64) async throws -> Int {
        var deleted = 0
        var place: AnonymousAccount?
        repeat {
            let page = try await users.accounts.tables.anonymousAccounts(
                before: time, after: place, limit: Self.page)
            for account in page where account.isIdle && deleted < limit {
                // It may have been used, or linked, meanwhile.
                let isGone = try await users.deleteAnonymous(account.userId, app: account.app, unusedSince: time)
                if isGone { deleted += 1 }
            }
            place = page.count == Self.page ? page.last : nil
        } while place != nil && deleted < limit
        return deleted
    }

    private func deletePending(before time: Int64) async throws -> Int {
        var deleted = 0
        while deleted < limit {
            let page = try await users.accounts.tables.pendingAccounts(
                before: time, limit: min(Self.page, limit - deleted))
            if page.isEmpty { break }
            for (app, user) in page {
                // It may have been confirmed meanwhile.
                let isGone = try await users.accounts.forgetPending(user, app: app, registeredBefore: time)
                if isGone { deleted += 1 }
            }
        }
        return deleted
    }

    private func report(_ count: Int, of kind: String) {
        guard count > 0 else { return }
        metrics.idleAccounts[kind].increment(by: count)
        logger.notice("accounts that nobody used were deleted", metadata: ["kind": "\(kind)", "count": "\(count)"])
    }
}

extension Accounts {
    /// Deletes an account that isn't confirmed. No event tells of it, as none has told that it was there.
    ///
    /// - Parameter time: only if it was registered before it.
    /// - Returns: `false` when it is confirmed, or isn't there any more.
    @discardableResult
    func forgetPending(_ id: String, app: String, registeredBefore time: Int64 = .max) async throws -> Bool {
        try await transaction { tables in
            guard let user = try await tables.user(id, of: app, locked: true), user.isPending, user.createdAt < time
            else { return false }
            try await tables.deleteUser(id, of: app, now: clock.now())
            return true
        }
    }
}

import AppRegistry
import DocumentModel
import EventLoop
import Lifecycle
import Logging

/// Keeps the answers of an app up to date with its rules and its secrets: answers of other versions are decided again, in the background,
/// until none is left. After a start there are none unless something was deployed meanwhile, so a start is as fast with many grants as
/// with few.
final class RuleFollower: Service {
    private let decider: Decider
    private let grants: GrantTable
    private let apps: AppDirectory
    private let logger: Logger
    private let deployed: AsyncStream<String>
    private let input: AsyncStream<String>.Continuation

    /// Apps whose answers are being decided again, and those among them that were deployed again meanwhile.
    private struct State {
        var running: Set<ExactText> = []
        var again: Set<ExactText> = []
    }
    private let state = Locked(State())

    private static let page = 500
    /// Answers that are decided at the same time: many, since functions of rules mostly wait, and until then the former answers hold. Users
    /// who ask meanwhile have their own turns at the function hosts.
    private static let concurrency = 32

    init(decider: Decider, grants: GrantTable, apps: AppDirectory, logger: Logger) {
        self.decider = decider
        self.grants = grants
        self.apps = apps
        self.logger = logger
        (deployed, input) = AsyncStream.makeStream()
    }

    /// Called when an app has a version, or secrets, that this process didn't know.
    func follow(_ app: String) { input.yield(app) }

    /// Works until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            await withDiscardingTaskGroup { group in
                for await app in self.deployed where self.begins(app) {
                    // Cancelled with the group; after the next start the rest is decided.
                    group.addTask { try? await self.decideAgain(app) }
                }
            }
        }
    }

    private func begins(_ app: String) -> Bool {
        state.withLock { state in
            if state.running.insert(ExactText(app)).inserted { return true }
            state.again.insert(ExactText(app))
            return false
        }
    }

    /// - Returns: whether the app was deployed again meanwhile.
    private func continues(_ app: String) -> Bool {
        state.withLock { state in
            if state.again.remove(ExactText(app)) != nil { return true }
            state.running.remove(ExactText(app))
            return false
        }
    }

    /// - Throws: `CancellationError`.
    private func decideAgain(_ app: String) async throws {
        repeat {
            var backoff = RetryBackoff(RetrySchedule(first: .seconds(1), limit: .seconds(30)))
            // No event reports that an engine or a host is available again.
            while await !decideOnce(app) { try await Task.sleep(for: backoff.next()) }
            PermissionsMetrics.rulePasses.increment()
        } while continues(app)
    }

    /// - Returns: whether all answers are up to date with the rules now.
    private func decideOnce(_ app: String) async -> Bool {
        guard let rules = apps.app(app).map(AppliedRules.init) else { return true }
        var decided = 0
        var failed = 0
        do {
            var last: Subject?
            while true {
                let page = try await grants.subjects(app: app, otherThan: rules, after: last, limit: Self.page)
                failed += await failures(of: page)
                decided += page.count
                guard page.count == Self.page, let end = page.last else { break }
                last = end
            }
        } catch {
            logger.warning(
                "answers aren't decided for the new rules yet", metadata: ["app.id": "\(app)", "error": "\(error)"])
            return false
        }
        if decided > 0 {
            logger.notice(
                "answers were decided again for new rules",
                metadata: ["app.id": "\(app)", "count": "\(decided - failed)", "failed": "\(failed)"])
        }
        return failed == 0
    }

    /// Decides subjects again.
    /// - Returns: how many decisions failed.
    private func failures(of subjects: [Subject]) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            var waiting = subjects.makeIterator()
            func addNext() {
                guard let subject = waiting.next() else { return }
                group.addTask { await self.isDecided(subject) }
            }
            for _ in 0..<Self.concurrency { addNext() }
            var failed = 0
            while let isDecided = await group.next() {
                if !isDecided { failed += 1 }
                addNext()
            }
            return failed
        }
    }

    private func isDecided(_ subject: Subject) async -> Bool {
        do {
            try await decider.decideAgain(subject)
            return true
        } catch {
            logger.debug(
                "a decision is tried again",
                metadata: ["partition.id": "\(subject.partition)", "error": "\(error)"])
            return false
        }
    }
}

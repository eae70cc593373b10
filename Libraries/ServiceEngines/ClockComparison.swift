import DocumentModel
import EventLoop
import Lifecycle
import Postgres

/// Compares this machine's clock with that of Postgres, which all services of a system have in common.
///
/// With a wrong clock a service would do lasting damage: date fields of documents in the future, so that nobody's later write wins, take
/// scheduled times of triggers that haven't come, and delete signing keys that aren't old.
package struct ClockComparison: Sendable {
    /// The clocks differ too much.
    package struct Wrong: Error, CustomStringConvertible {
        package let description: String
    }

    /// The milliseconds by which the clocks may differ. Two machines then differ by no more than access tokens allow
    /// (`TokenVerifier.issueLeeway`).
    package static let tolerance: Int64 = 30_000
    private static let interval = Duration.seconds(5)

    private let client: PostgresClient
    private let clock: WallClock

    package init(client: PostgresClient, clock: WallClock = .system) {
        self.client = client
        self.clock = clock
    }

    /// - Throws: ``Wrong``; errors of Postgres.
    package func check() async throws {
        let before = clock.now()
        let rows = try await client.query("select (extract(epoch from clock_timestamp()) * 1000)::bigint")
        let theirs = try rows.decode(Int64.self).first ?? before, after = clock.now()
        // Postgres has looked at its clock between both.
        let ahead = theirs < before ? before - theirs : min(0, after - theirs)
        if abs(ahead) <= Self.tolerance { return }
        throw Wrong(
            description:
                "this machine's clock is \(Self.text(abs(ahead))) \(ahead > 0 ? "ahead of" : "behind") Postgres': set the one that is wrong"
        )
    }

    /// Rounded, so that it stays the same while the difference does.
    private static func text(_ milliseconds: Int64) -> String {
        let seconds = (milliseconds + 500) / 1000
        return seconds < 120 ? "\(seconds) s" : seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }

    /// Checks every few seconds until graceful shutdown or cancellation.
    /// - Parameter isWrong: called with the reason when the clocks differ too much.
    func watching(_ isWrong: @escaping @Sendable (String) -> Void) -> any Service {
        Watching(comparison: self, isWrong: isWrong)
    }

    private struct Watching: Service {
        let comparison: ClockComparison
        let isWrong: @Sendable (String) -> Void

        func run() async throws {
            try? await cancelWhenGracefulShutdown {  // ends by cancellation only
                while !Task.isCancelled {
                    do {
                        try await comparison.check()
                    } catch let wrong as Wrong {
                        isWrong(wrong.description)
                    } catch {
                        // Postgres is away, which others report.
                    }
                    try await Task.sleep(for: ClockComparison.interval)  // nothing reports that Postgres' clock was set
                }
            }
        }
    }
}

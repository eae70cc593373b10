import DocumentModel
import Lifecycle
import ServiceEngines

/// Ends the streams of changes whose users may no longer have them, and makes idle ones send heartbeats.
struct WatchKeeper: Service {
    let watches: Watches
    let access: AccessCheck
    let heartbeat: Duration
    let clock: WallClock

    func run() async throws {
        let turns = max(1, Int(heartbeat / .seconds(1)))
        do {
            try await cancelWhenGracefulShutdown {
                var turn = 0
                while true {
                    try await Task.sleep(for: .seconds(1))
                    let now = clock.seconds
                    watches.end { $0.claims.expiresAt <= now ? .expired : nil }
                    turn = (turn + 1) % turns
                    watches.beat(turn: turn, of: turns)
                }
            }
        } catch is CancellationError {
            // It ends by cancellation.
        }
    }

    /// Called when a user was blocked or a session has ended.
    func shutOutChanged() { watches.end(reason) }

    /// Why a stream may not be open, apart from its app's version.
    func reason(_ watch: Watch) -> WatchEnd? {
        switch access.shutOut.reason(watch.claims) {
        case nil: nil
        case .disabled: .disabled
        case .deleted: .deleted
        case .sessionEnded: .signedOut
        }
    }
}

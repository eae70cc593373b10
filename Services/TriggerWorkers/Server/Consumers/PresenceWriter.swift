import AppRegistry
import DocumentStore
import EventStream
import EventTopics
import Logging

/// Writes the app's presence field as users come and go.
struct PresenceWriter: EventHandler {
    let flips: PresenceFlips
    let logger: Logger

    func handle(_ events: [ReceivedEvent<PresenceEvent>]) async throws {
        // A lane has the events of one user: only the newest flip matters.
        let newest = events.map(\.payload).filter { $0.state != .said }.max { $0.version < $1.version }
        if let newest { try await flips.write(newest) }
    }

    /// What a document doesn't admit is recorded, and doesn't arrive here.
    func decide(_ error: any Error, on event: ReceivedEvent<PresenceEvent>, attempts: Int) async -> FailureDecision {
        switch error {
        case is AppDirectory.Unreadable: .retry
        case let error as DocumentStoreError where error.isTransient: .retry
        case _ where TransientErrors.contains(error): .retry
        default: attempts < 5 ? .retry : .deadLetter
        }
    }

    func deadLetter(_ letter: DeadLetter<PresenceEvent>) async throws {
        logger.error("a flip can't be read or written", metadata: ["error": "\(letter.error)"])
    }
}

import EventLoop
import EventStream
import EventTopics
import Logging

/// Records which gateways have stopped serving a revoked pair.
struct FenceAcksHandler: EventHandler {
    let fences: FenceTable
    /// Set when a gateway has answered.
    let alarm: Alarm
    let logger: Logger

    func handle(_ events: [ReceivedEvent<FenceAck>]) async throws {
        for event in events { try await fences.answered(event.payload) }
        alarm.set()
    }

    func decide(_ error: any Error, on event: ReceivedEvent<FenceAck>, attempts: Int) async -> FailureDecision {
        .retry
    }

    func deadLetter(_ letter: DeadLetter<FenceAck>) async throws {
        logger.error("a gateway's answer could not be read", metadata: ["error": "\(letter.error)"])
    }
}

import AppDeployment
import DocumentModel

/// Triggers, what they failed on, and what functions wrote to their console.
extension Administration {
    func performOnTriggers(_ call: AdminCall) async throws -> AdminAnswer {
        let name = call.parameter("trigger") ?? ""
        switch call.action {
        case .pauseTrigger: try await deployments.pauseTrigger(name, of: call.app)
        case .resumeTrigger: try await deployments.resumeTrigger(name, of: call.app)
        default:
            let triggers = try await deployments.triggers(of: call.app)
            return AdminAnswer([
                "triggers": .array(
                    triggers.map {
                        var trigger: Document = [
                            "trigger": .string($0.name), "state": .string($0.state), "function": .string($0.function),
                            "deadLetters": .int64($0.deadLetters),
                        ]
                        trigger["nextRun"] = $0.nextRun.map(Value.date)
                        trigger["missedEvents"] = $0.missedEvents.map(Value.int64)
                        return .document(trigger)
                    }),
                "waitingChanges": .int64(try await deployments.changesBeforeTriggers(of: call.app)),
            ])
        }
        return AdminAnswer()
    }

    func performOnDeadLetters(_ call: AdminCall) async throws -> AdminAnswer {
        if call.action == .listDeadLetters {
            let page = try await deployments.deadLetters(
                of: call.app, trigger: call.text("trigger"),
                after: try call.number("after", in: 0...Int64.max) ?? 0,
                limit: Int(try call.number("limit", in: 1...Self.pageLimit) ?? 50))
            return AdminAnswer(["deadLetters": .array(page.map(Value.document))])
        }
        guard let number = try call.number("number", in: 1...Int64.max) else {
            throw AuthError(.missingParameter, "number is missing")
        }
        switch call.action {
        case .replayDeadLetter:
            try await deployments.replayDeadLetter(
                number, of: call.app, anew: try call.flag("anew"), recording: recording)
        case .discardDeadLetter:
            try await deployments.discardDeadLetter(number, of: call.app, recording: recording)
        default: return AdminAnswer(try await deployments.deadLetter(number, of: call.app))
        }
        return AdminAnswer()
    }

    func readLogs(_ call: AdminCall) async throws -> AdminAnswer {
        let lines = try await deployments.functionLogs(
            of: call.app, before: try call.number("before", in: 0...Int64.max),
            limit: Int(try call.number("limit", in: 1...Self.pageLimit) ?? 50))
        return AdminAnswer(["lines": .array(lines.map(Value.document))])
    }
}

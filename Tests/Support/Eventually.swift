import Foundation

/// The time by which something immediate has certainly happened: it distinguishes that from a hang, and says nothing about speed.
public let patience = Duration.seconds(60)

/// Waits until a condition holds, asking for it again and again.
/// - Parameter deadline: for an idle machine; if several tasks wait for each processor, it is extended by that factor.
/// - Throws: `EventuallyError` with what was awaited when `deadline` is over; and what the condition throws.
public func eventually(
    _ what: @autoclosure () -> String, within deadline: Duration = .seconds(10),
    every interval: Duration = .milliseconds(10), _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + deadline
    while try await !condition() {
        if ContinuousClock.now > end, ContinuousClock.now > end + deadline * (tasksPerProcessor() - 1) {
            throw EventuallyError(description: "not within \(deadline): \(what())")
        }
        try await Task.sleep(for: interval)
    }
}

/// Waits until there is a value.
public func eventually<T>(
    _ what: @autoclosure () -> String, within deadline: Duration = .seconds(10),
    every interval: Duration = .milliseconds(10), _ value: () async throws -> T?
) async throws -> T {
    let end = ContinuousClock.now + deadline
    while true {
        if let value = try await value() { return value }
        if ContinuousClock.now > end, ContinuousClock.now > end + deadline * (tasksPerProcessor() - 1) {
            throw EventuallyError(description: "not within \(deadline): \(what())")
        }
        try await Task.sleep(for: interval)
    }
}

public struct EventuallyError: Error, CustomStringConvertible {
    public let description: String
}

/// How many tasks have wanted each processor in the last minute: 1 to 30.
private func tasksPerProcessor() -> Double {
    guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8),  // then the deadline is kept
        let load = text.split(separator: " ").first.flatMap({ Double($0) })
    else { return 1 }
    return min(max(load / Double(ProcessInfo.processInfo.activeProcessorCount), 1), 30)
}

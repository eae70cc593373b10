/// Waits until a condition holds, asking for it again and again.
/// - Throws: `EventuallyError` with what was awaited when `deadline` is over; and what the condition throws.
public func eventually(
    _ what: String, within deadline: Duration = .seconds(10), every interval: Duration = .milliseconds(10),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + deadline
    while try await !condition() {
        if ContinuousClock.now > end { throw EventuallyError(description: "not within \(deadline): \(what)") }
        try await Task.sleep(for: interval)
    }
}

/// Waits until there is a value.
public func eventually<T>(
    _ what: String, within deadline: Duration = .seconds(10), every interval: Duration = .milliseconds(10),
    _ value: () async throws -> T?
) async throws -> T {
    let end = ContinuousClock.now + deadline
    while true {
        if let value = try await value() { return value }
        if ContinuousClock.now > end { throw EventuallyError(description: "not within \(deadline): \(what)") }
        try await Task.sleep(for: interval)
    }
}

public struct EventuallyError: Error, CustomStringConvertible {
    public let description: String
}

/// Growing pauses between attempts, each between half and the whole of its step, so that clients don't come all at once.
package struct ReconnectBackoff: Sendable {
    private let first: Duration
    private let limit: Duration
    private var step: Duration

    /// - Parameters:
    ///   - first: the longest first pause.
    ///   - limit: the longest pause at all.
    package init(first: Duration = .milliseconds(50), limit: Duration = .seconds(2)) {
        self.first = first
        self.limit = limit
        step = first
    }

    package mutating func next() -> Duration {
        defer { step = min(step * 2, limit) }
        return step * Double.random(in: 0.5...1)
    }

    package mutating func reset() { step = first }
}

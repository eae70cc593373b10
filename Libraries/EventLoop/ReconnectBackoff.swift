/// Growing pauses between attempts to connect, from 50 ms to 2 s, each between half and the whole of its step, so that
/// clients don't come all at once.
package struct ReconnectBackoff {
    private var step = Duration.milliseconds(50)

    package init() {}

    package mutating func next() -> Duration {
        defer { step = min(step * 2, .seconds(2)) }
        return step * Double.random(in: 0.5...1)
    }

    package mutating func reset() { step = .milliseconds(50) }
}

/// Yields the thread to other tasks when this one has used it for a while: a pipeline that never waits would otherwise keep it
/// until its end.
///
/// The clock is read only for this; results don't depend on it.
struct ThreadTurn {
    private static let length = Duration.milliseconds(10)
    private var end = ContinuousClock.now + length

    /// Returns at once, or after other tasks have run.
    mutating func passOn() async {
        guard ContinuousClock.now >= end else { return }
        await Task.yield()
        end = .now + Self.length
    }
}

/// Lets other tasks have the thread when this one has had it for a while: a pipeline that waits for nobody would keep it to its end.
///
/// It looks at a clock for this alone; what is evaluated doesn't depend on it.
struct ThreadTurn {
    private static let length = Duration.milliseconds(10)
    private var end = ContinuousClock.now + length

    /// Returns at once, or when the others have had their turn.
    mutating func passOn() async {
        guard ContinuousClock.now >= end else { return }
        await Task.yield()
        end = .now + Self.length
    }
}

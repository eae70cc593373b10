/// Which partitions a search for missing changes compares.
public enum SweepScope: Sendable {
    case all
    /// Those whose newest change is younger than this: it may still be in flight on the topic.
    case changed(within: Duration)
    /// All but those that changed within this time.
    case unchanged(for: Duration)
}

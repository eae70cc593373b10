import EventStream
import EventTopics

/// An open stream's place among the others, which it loses when nothing refers to this any more.
final class WatchPlace: Sendable {
    let watch: Watch
    private let watches: Watches
    /// Keeps the topic being read.
    private let reading: OnDemandTail<DocumentChangesEvent>.Reading

    /// - Parameter watch: one that was added to `watches`.
    init(_ watch: Watch, in watches: Watches, _ reading: OnDemandTail<DocumentChangesEvent>.Reading) {
        self.watch = watch
        self.watches = watches
        self.reading = reading
    }

    deinit {
        watch.queue.end(.left)
        watches.remove(watch)
    }
}

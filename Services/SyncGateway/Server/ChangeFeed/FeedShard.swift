import DocumentModel
import EventLoop
import SyncEngine

/// The subscriptions of one loop, by partition.
///
/// `@unchecked Sendable`: everything but `deliver` is used on the loop only.
final class FeedShard: @unchecked Sendable {
    let loop: EventLoop
    let expiries: ExpiryWheel
    private let feed: ChangeFeed
    private var subscribers: [PartitionKey: [any FeedFollower]] = [:]

    init(loop: EventLoop, feed: ChangeFeed) {
        self.loop = loop
        expiries = ExpiryWheel(loop)
        self.feed = feed
    }

    func attach(_ subscription: any FeedFollower, to key: PartitionKey) {
        loop.assertInLoop()
        if subscribers[key] == nil { feed.open(key, for: self) }
        subscription.slot = subscribers[key, default: []].count
        subscribers[key, default: []].append(subscription)
    }

    /// Moves the last subscription into the free slot, so that the cost doesn't grow with the number of subscribers.
    func detach(_ subscription: any FeedFollower, from key: PartitionKey) {
        loop.assertInLoop()
        guard let slot = subscription.slot, var list = subscribers.removeValue(forKey: key) else { return }
        subscription.slot = nil
        let last = list.removeLast()
        if last !== subscription {
            list[slot] = last
            last.slot = slot
        }
        if list.isEmpty { feed.close(key, for: self) } else { subscribers[key] = list }
    }

    /// Called by the feed, on any thread.
    func deliver(_ frames: [ChangeFeed.Frame], of key: PartitionKey) {
        loop.execute { [self] in
            // A copy, since a subscription may detach itself meanwhile.
            guard let list = subscribers[key] else { return }
            for subscription in list { for frame in frames { subscription.received(frame) } }
        }
    }
}

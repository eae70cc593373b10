/// What receives a partition's frames on the loop of its shard.
protocol FeedFollower: AnyObject {
    /// Its index in the shard's list of followers.
    var slot: Int? { get set }
    func received(_ frame: ChangeFeed.Frame)
}

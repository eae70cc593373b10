import SyncEngine

/// The uploads of a lane's queue that are committed next.
///
/// Small uploads pass large ones that don't fit into the batch, and those of users who have to wait, but none passes an earlier one
/// of its device. The uploads of costly users have batches of their own, in turns with those of the others.
struct QueueDivision {
    /// How a sender's uploads are treated.
    enum Standing {
        case ordinary
        case costly
        case pausing(until: ContinuousClock.Instant)
    }

    /// How many uploads are looked at, without those of users who have to wait.
    private static let horizon = 2048

    /// The places of the uploads to commit.
    let batch: [Int]
    /// The places of uploads whose user has to wait, and that waited long enough.
    private(set) var refused: [Int] = []
    /// The places of all others, in their order.
    let left: [Int]
    /// The end of the first pause of a user with uploads in the queue.
    private(set) var pauseEnd: ContinuousClock.Instant?
    /// Whether the batch consists of uploads of costly users.
    let isOfCostly: Bool
    /// Whether uploads of costly users stay that could have been committed.
    let leavesCostly: Bool

    /// - Parameters:
    ///   - queue: The uploads in their order, each with the time until which it may wait.
    ///   - costlyTurn: Whether costly users come first.
    init(
        _ queue: some Collection<(upload: Upload, deadline: ContinuousClock.Instant)>, limits: GroupCommitter.Limits,
        costlyTurn: Bool, now: ContinuousClock.Instant, standing: (Upload) -> Standing
    ) {
        var ordinary = Filling(limits: limits), costly = Filling(limits: limits)
        var held: Set<UploadCounter.Key> = []
        var seen = 0
        for (place, waiting) in queue.enumerated() {
            if ordinary.isFull || seen == Self.horizon { break }
            let counter = waiting.upload.counter
            let standing = standing(waiting.upload)
            if case .pausing(let end) = standing {
                pauseEnd = min(end, pauseEnd ?? end)
                held.insert(counter)
                if now >= waiting.deadline { refused.append(place) }
                continue
            }
            seen += 1
            if held.contains(counter) { continue }
            let isTaken: Bool
            if case .costly = standing {
                isTaken = costly.take(waiting.upload, at: place)
            } else {
                isTaken = ordinary.take(waiting.upload, at: place)
            }
            if !isTaken { held.insert(counter) }
        }
        isOfCostly = !costly.places.isEmpty && (costlyTurn || ordinary.places.isEmpty)
        leavesCostly = !costly.places.isEmpty && !isOfCostly
        batch = isOfCostly ? costly.places : ordinary.places
        var stays = [Bool](repeating: true, count: queue.count)
        for place in batch + refused { stays[place] = false }
        left = stays.indices.filter { stays[$0] }
    }

    /// Uploads that go together.
    private struct Filling {
        let limits: GroupCommitter.Limits
        var places: [Int] = []
        var bytes = 0

        init(limits: GroupCommitter.Limits) { self.limits = limits }

        var isFull: Bool { places.count == limits.batch }

        /// - Returns: whether the upload fits.
        mutating func take(_ upload: Upload, at place: Int) -> Bool {
            if isFull || !places.isEmpty && bytes + upload.bytes > limits.batchBytes { return false }
            // However large the first one is, small ones go with it.
            bytes += places.isEmpty ? min(upload.bytes, limits.batchBytes / 2) : upload.bytes
            places.append(place)
            return true
        }
    }
}

import DocumentModel
import SyncEngine

/// The uploads of a lane's queue that are committed next.
///
/// Small uploads pass large ones, those of users who have to wait, and those of partitions that are busy, but none passes an earlier
/// one of its device. Large uploads, and those of costly users, have batches of their own.
struct QueueDivision {
    /// How an upload is treated.
    enum Standing {
        case ordinary
        /// It is committed aside: its user's changesets cost much, or it is large, and then nothing goes with it.
        case aside(isAlone: Bool)
        case pausing(until: ContinuousClock.Instant)
    }

    /// How many uploads are looked at that can't be committed because others of their batch come first.
    private static let horizon = 2048

    /// The places of ordinary uploads to commit.
    let ordinary: [Int]
    /// The places of uploads to commit aside: those of costly users, or a large one.
    let aside: [Int]
    /// The places of uploads whose user has to wait, and that waited long enough.
    private(set) var refused: [Int] = []
    /// The end of the first pause of a user with uploads in the queue.
    private(set) var pauseEnd: ContinuousClock.Instant?
    private let count: Int

    /// - Parameters:
    ///   - queue: The uploads in their order, each with the time until which it may wait.
    ///   - busy: The partitions that are locked for long.
    init(
        _ queue: some Collection<(upload: Upload, deadline: ContinuousClock.Instant)>, limits: GroupCommitter.Limits,
        busy: Set<ExactText>, now: ContinuousClock.Instant, standing: (Upload) -> Standing
    ) {
        var ordinary = Filling(limits: limits), aside = Filling(limits: limits)
        // Devices of which an earlier upload isn't in the batch: what comes after it isn't either.
        var heldFromOrdinary: Set<UploadCounter.Key> = [], heldFromAside: Set<UploadCounter.Key> = []
        var seen = 0
        for (place, waiting) in queue.enumerated() {
            if ordinary.isFull || seen == Self.horizon { break }
            let upload = waiting.upload, counter = upload.counter
            switch standing(upload) {
            case .pausing(let end):
                pauseEnd = min(end, pauseEnd ?? end)
                if now >= waiting.deadline { refused.append(place) }
                heldFromOrdinary.insert(counter)
                heldFromAside.insert(counter)
            case _ where !busy.isEmpty && busy.contains(ExactText(upload.partition.text)): continue
            case .ordinary:
                seen += 1
                heldFromAside.insert(counter)
                if heldFromOrdinary.contains(counter) || ordinary.take(upload, at: place) { continue }
                heldFromOrdinary.insert(counter)
            case .aside(let isAlone):
                heldFromOrdinary.insert(counter)
                if heldFromAside.contains(counter) || aside.take(upload, at: place, isAlone: isAlone) { continue }
                heldFromAside.insert(counter)
            }
        }
        self.ordinary = ordinary.places
        self.aside = aside.places
        count = queue.count
    }

    /// The places of the uploads that stay in the queue, in their order.
    func left(without taken: [Int]) -> [Int] {
        var stays = [Bool](repeating: true, count: count)
        for place in taken + refused { stays[place] = false }
        return stays.indices.filter { stays[$0] }
    }

    /// Uploads that go together.
    private struct Filling {
        let limits: GroupCommitter.Limits
        var places: [Int] = []
        var bytes = 0
        var operations = 0
        /// Whether nothing more goes with what there is.
        var isClosed = false

        init(limits: GroupCommitter.Limits) { self.limits = limits }

        var isFull: Bool { isClosed || places.count == limits.batch }

        /// - Parameter isAlone: Whether no other goes with it.
        /// - Returns: whether the upload fits.
        mutating func take(_ upload: Upload, at place: Int, isAlone: Bool = false) -> Bool {
            let more = upload.changeset.operations.count
            if isFull { return false }
            if !places.isEmpty,
                isAlone || bytes + upload.bytes > limits.batchBytes || operations + more > limits.batchOperations
            {
                return false
            }
            bytes += upload.bytes
            operations += more
            places.append(place)
            isClosed = isAlone
            return true
        }
    }
}

/// Tracks which offsets of one partition are finished, and the offset below which all are: only that may be committed.
struct OffsetTracker {
    /// The offsets that have begun, ascending; the first `head` are already committable.
    private var offsets: [Int64] = []
    private var isFinished: [Bool] = []
    private var head = 0

    /// The number of offsets that have begun and are not below the committable offset yet.
    var count: Int { offsets.count - head }

    /// Adds an offset whose handling begins. Must be called in ascending order.
    mutating func begin(_ offset: Int64) {
        offsets.append(offset)
        isFinished.append(false)
    }

    /// Marks an offset as finished.
    /// - Returns: the offset to continue with after a restart; `nil` when it did not change.
    mutating func finish(_ offset: Int64) -> Int64? {
        guard let index = index(of: offset), !isFinished[index] else { return nil }
        isFinished[index] = true
        guard index == head else { return nil }
        var next = offset + 1
        while head < offsets.count, isFinished[head] {
            next = offsets[head] + 1
            head += 1
        }
        if head > 1024, head * 2 > offsets.count {
            offsets.removeFirst(head)
            isFinished.removeFirst(head)
            head = 0
        }
        return next
    }

    /// Marks all offsets that have begun as finished.
    /// - Returns: the offset to continue with after a restart; `nil` when it did not change.
    mutating func letGo() -> Int64? {
        guard head < offsets.count, let last = offsets.last else { return nil }
        self = OffsetTracker()
        return last + 1
    }

    private func index(of offset: Int64) -> Int? {
        var low = head
        var high = offsets.count
        while low < high {
            let middle = (low + high) / 2
            if offsets[middle] < offset { low = middle + 1 } else { high = middle }
        }
        return low < offsets.count && offsets[low] == offset ? low : nil
    }
}

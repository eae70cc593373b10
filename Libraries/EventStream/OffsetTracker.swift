/// Which offsets of one partition are finished, and up to where all of them are: only that may be committed.
struct OffsetTracker {
    /// Ascending; the first `head` are gone.
    private var offsets: [Int64] = []
    private var isFinished: [Bool] = []
    private var head = 0

    /// How many have begun and are not behind the committable offset yet.
    var count: Int { offsets.count - head }

    /// To be called in ascending order.
    mutating func begin(_ offset: Int64) {
        offsets.append(offset)
        isFinished.append(false)
    }

    /// - Returns: the offset to go on with after a restart, when it moved.
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

    /// Finishes all that have begun.
    /// - Returns: the offset to go on with after a restart, when it moved.
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

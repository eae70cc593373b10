import DocumentModel

/// Live frames that arrived during a catch-up. Their size is bounded: the newest are kept.
struct HeldFrames<Payload: Sendable>: Sendable {
    private var frames: [LiveFrame<Payload>] = []
    private var byteCount = 0
    private var last: Revision?

    mutating func append(_ frame: LiveFrame<Payload>, limit: Int) {
        frames.append(frame)
        byteCount += frame.byteCount
        last = last.map { max($0, frame.to) } ?? frame.to
        guard byteCount > limit else { return }
        // Drops half at once: removing one by one from the front of an array is quadratic.
        var kept = frames.count
        while kept > 0 && byteCount > limit / 2 {
            byteCount -= frames[frames.count - kept].byteCount
            kept -= 1
        }
        frames.removeFirst(frames.count - kept)
    }

    /// Empties the buffer.
    ///
    /// - Returns: The frames after a revision, of which the first may not continue it; `nil` when all of them were dropped.
    mutating func takeFollowing(_ revision: Revision) -> [LiveFrame<Payload>]? {
        defer { self = HeldFrames() }
        let following = frames.filter { $0.to > revision }
        return following.isEmpty && (last.map { $0 > revision } ?? false) ? nil : following
    }
}

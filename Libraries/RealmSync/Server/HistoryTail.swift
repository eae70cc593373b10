package import DocumentModel

/// The end of a history in memory, so that all clients that follow it are served by one read.
///
/// A read is new enough for those who asked before it began.
package struct HistoryTail: Sendable {
    private var requests = 0
    /// The last request before the read that `standing` is from.
    private var answered = 0
    package private(set) var standing: HistoryStanding?
    /// The newest entries, without a gap up to the standing's version.
    private var entries: [HistoryEntry] = []
    /// The secret of the version before them; `nil` if it isn't known.
    private var previous: Int64?
    private var bytes = 0

    /// The most bytes of entries that are kept, and the most entries.
    private static let maximumBytes = 1 << 20
    private static let maximumEntries = 1000

    /// Something may have changed: what was read before isn't new enough from now on.
    /// - Returns: the number of the request.
    @discardableResult
    package mutating func request() -> Int {
        requests += 1
        return requests
    }

    /// Documents have changed up to a revision, which may be known.
    package mutating func request(upTo revision: Revision) {
        if let standing, standing.revision >= revision { return }
        request()
    }

    /// Entries were read from the database, which may be newer than the standing.
    package mutating func saw(_ part: HistoryPart) {
        if let standing, let last = part.entries.last, last.version > standing.version { request() }
    }

    /// The standing, if nobody has said that something may have changed since it was read.
    package var current: HistoryStanding? { standing(for: requests) }

    /// The number of the last request.
    package var lastRequest: Int { requests }

    /// - Returns: the standing, if it was read after a request.
    package func standing(for request: Int) -> HistoryStanding? { answered >= request ? standing : nil }

    /// The version from which on entries have to be read; `nil` if there is nothing to continue.
    package var end: Int64? { entries.last?.version }

    /// Takes what was read.
    /// - Parameters:
    ///   - new: The newest entries, up to the standing's version. What was kept before is dropped if they don't follow it.
    ///   - request: The last one before the read.
    package mutating func take(_ standing: HistoryStanding, _ new: HistoryPart, for request: Int) {
        self.standing = standing
        answered = request
        if let first = new.entries.first, first.version != (end ?? 0) + 1 || entries.last?.salt != new.previous {
            drop()
            previous = new.previous
        }
        entries += new.entries
        bytes += new.entries.reduce(0) { $0 + $1.bytes.count }
        // The history may be another one, or longer than what was read.
        if end != standing.version || entries.last?.salt != standing.salt { return drop() }
        var surplus = 0
        while entries.count - surplus > 1,
            entries.count - surplus > Self.maximumEntries || bytes > Self.maximumBytes
        {
            bytes -= entries[surplus].bytes.count
            surplus += 1
        }
        if surplus > 0 { previous = entries[surplus - 1].salt }
        entries.removeFirst(surplus)
    }

    private mutating func drop() { (entries, bytes, previous) = ([], 0, nil) }

    /// The entries after a version up to the standing's; `nil` if they aren't all here.
    package func entries(after version: Int64) -> HistoryPart? {
        guard let standing else { return nil }
        if version >= standing.version {
            return HistoryPart(after: version == standing.version ? standing.salt : nil, [])
        }
        guard let first = entries.first, version >= first.version - 1 else { return nil }
        let place = Int(version + 1 - first.version)
        return HistoryPart(after: place == 0 ? previous : entries[place - 1].salt, Array(entries[place...]))
    }

    /// The entries after a version up to what a history is; `nil` if they aren't all here.
    package func entries(after version: Int64, upTo end: HistoryStanding) -> HistoryPart? {
        standing?.salt == end.salt ? entries(after: version) : nil
    }
}

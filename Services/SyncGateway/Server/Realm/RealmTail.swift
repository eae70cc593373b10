import DocumentModel
import EventLoop

/// The end of a history in memory, so that all clients that follow it are served by one read.
///
/// A read is new enough for those who asked before it began.
struct RealmTail: Sendable {
    private var requests = 0
    /// The last request before the read that `standing` is from.
    private var answered = 0
    private(set) var standing: RealmTables.Standing?
    /// The newest entries, without a gap up to the standing's version.
    private var entries: [RealmTables.Entry] = []
    private var bytes = 0

    /// The most bytes of entries that are kept, and the most entries.
    private static let maximumBytes = 1 << 20
    private static let maximumEntries = 1000

    /// Something may have changed: what was read before isn't new enough from now on.
    /// - Returns: the number of the request.
    @discardableResult
    mutating func request() -> Int {
        requests += 1
        return requests
    }

    /// Documents have changed up to a revision, which may be known.
    mutating func request(upTo revision: Revision) {
        if let standing, standing.revision >= revision { return }
        request()
    }

    /// The standing, if nobody has said that something may have changed since it was read.
    var current: RealmTables.Standing? { standing(for: requests) }

    /// The number of the last request.
    var lastRequest: Int { requests }

    /// - Returns: the standing, if it was read after a request.
    func standing(for request: Int) -> RealmTables.Standing? { answered >= request ? standing : nil }

    /// The version from which on entries have to be read; `nil` if there is nothing to continue.
    var end: Int64? { entries.last?.version }

    /// Takes what was read.
    /// - Parameters:
    ///   - request: The last one before the read.
    ///   - new: The newest entries, up to the standing's version. What was kept before is dropped if they don't follow it.
    mutating func take(_ standing: RealmTables.Standing, _ new: [RealmTables.Entry], for request: Int) {
        self.standing = standing
        answered = request
        if let first = new.first, first.version != (entries.last?.version ?? first.version - 1) + 1 {
            (entries, bytes) = ([], 0)
        }
        entries += new
        bytes += new.reduce(0) { $0 + $1.bytes.count }
        var surplus = 0
        while entries.count - surplus > 1,
            entries.count - surplus > Self.maximumEntries || bytes > Self.maximumBytes
        {
            bytes -= entries[surplus].bytes.count
            surplus += 1
        }
        entries.removeFirst(surplus)
    }

    /// The entries after a version; `nil` if they aren't all here.
    func entries(after version: Int64) -> ArraySlice<RealmTables.Entry>? {
        guard let standing else { return nil }
        if version >= standing.version { return [] }
        guard let first = entries.first, entries.last?.version == standing.version, version >= first.version - 1 else {
            return nil
        }
        return entries[Int(version + 1 - first.version)...]
    }
}

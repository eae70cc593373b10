/// Entries of a history that follow each other, and what they follow.
package struct HistoryPart: Sendable {
    /// The secret of the version before the first of them; `nil` if there is none, or if it isn't known.
    package var previous: Int64?
    package var entries: [HistoryEntry]
    /// The bytes of changesets that come after them and are sent to the client.
    package var remaining: Int64 = 0

    /// The bytes of its changesets.
    package var bytes: Int { entries.reduce(0) { $0 + $1.bytes.count } }

    package init(after previous: Int64?, _ entries: [HistoryEntry]) {
        self.previous = previous
        self.entries = entries
    }

    /// - Parameters:
    ///   - total: The bytes of changesets from the first entry on, without those of a client file.
    ///   - file: That file, which isn't sent its own.
    package init(after previous: Int64?, _ entries: [HistoryEntry], of total: Int64, for file: Int64?) {
        self.init(after: previous, entries)
        remaining = max(0, total - entries.reduce(0) { $0 + ($1.file == file ? 0 : Int64($1.bytes.count)) })
    }

    /// Nothing.
    package static let none = HistoryPart(after: nil, [])
}

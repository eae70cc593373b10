/// Entries of a history that follow each other, and what they follow.
package struct HistoryPart: Sendable {
    /// The secret of the version before the first of them; `nil` if there is none, or if it isn't known.
    package var previous: Int64?
    package var entries: [HistoryEntry]

    package init(after previous: Int64?, _ entries: [HistoryEntry]) {
        self.previous = previous
        self.entries = entries
    }

    /// Nothing.
    package static let none = HistoryPart(after: nil, [])
}

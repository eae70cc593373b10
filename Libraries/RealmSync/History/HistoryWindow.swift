/// The part of a history that concurrent changesets have to be merged with: what others have done since.
///
/// The entries are in their reciprocal form, which is as the sender of the concurrent changesets has them: already merged with what it
/// sent before. A server keeps the forms that differ from the history, by client.
public struct HistoryWindow: Sendable {
    /// A changeset of the history.
    public struct Entry: Sendable {
        /// Its place in the history.
        public let version: UInt64
        /// It in its reciprocal form.
        public var changeset: MergedChangeset

        public init(version: UInt64, changeset: MergedChangeset) {
            self.version = version
            self.changeset = changeset
        }
    }

    /// A changeset that was made when only a part of the window was known.
    public struct Incoming: Sendable {
        /// The version up to which its maker had the history.
        public let base: UInt64
        /// The changeset; after the integration, in the form that follows the window.
        public var changeset: MergedChangeset

        public init(base: UInt64, changeset: MergedChangeset) {
            self.base = base
            self.changeset = changeset
        }
    }

    /// The entries, by ascending versions.
    public private(set) var entries: [Entry]

    /// - Parameter entries: By ascending versions.
    public init(_ entries: [Entry]) { self.entries = entries }

    /// Merges changesets of one maker, in their order, with the entries after their bases.
    ///
    /// Successive changesets with the same base are merged together, as realm-core does.
    /// - Returns: The changesets in the form in which they can be applied after the window. Entries that have changed are marked as
    ///   modified.
    /// - Throws: `TransformError`; the window has to be discarded then.
    public mutating func integrate(
        _ incoming: [Incoming], transformer: inout Transformer
    ) throws(TransformError) -> [MergedChangeset] {
        var integrated: [MergedChangeset] = []
        integrated.reserveCapacity(incoming.count)
        var rest = incoming[...]
        while let base = rest.first?.base {
            let same = rest.prefix { $0.base == base }
            rest = rest.dropFirst(same.count)
            let start = entries.firstIndex { $0.version > base } ?? entries.endIndex
            var changesets = same.map(\.changeset)
            if start < entries.endIndex {
                var history = entries[start...].map(\.changeset)
                try transformer.merge(history: &history, incoming: &changesets)
                for (offset, changeset) in history.enumerated() { entries[start + offset].changeset = changeset }
            }
            integrated += changesets
        }
        return integrated
    }
}

import DocumentModel

/// The clocks of a document: one for the document, and one for each path whose last write differs from it.
///
/// A path is covered by its own clock, else by that of its nearest ancestor, else by the document's. At most ``cap`` paths
/// are kept; beyond that the oldest collapse into what covers them, so that a path can look written later than it was, but
/// never earlier.
public struct FieldClocks: Hashable, Sendable {
    /// The largest number of paths of a document that have a clock of their own.
    public static let cap = 64

    /// The clock of every path that has none of its own.
    public var document: FieldClock
    /// Clocks by dotted path. An array is one path.
    public private(set) var paths: [ExactText: FieldClock]

    /// The clocks of a document that has just been inserted.
    public init(inserted stamp: WriteStamp, revision: Revision) {
        self.init(document: FieldClock(time: stamp.time, author: stamp.author, revision: revision))
    }

    /// Clocks as they were stored.
    public init(document: FieldClock, paths: [ExactText: FieldClock] = [:]) {
        self.document = document
        self.paths = paths
    }

    /// The clock that applies to a path.
    public func covering(_ path: String) -> FieldClock {
        if paths.isEmpty { return document }
        var prefix = path[...]
        while true {
            if let clock = paths[String(prefix)] { return clock }
            guard let dot = prefix.utf8.lastIndex(of: 0x2E) else { return document }
            prefix = prefix[..<dot]
        }
    }

    /// The clocks of the paths strictly below a path.
    public func beneath(_ path: String) -> [(path: String, clock: FieldClock)] {
        if paths.isEmpty { return [] }
        let prefix = path + "."
        return paths.filter { $0.key.text.startsWithBytes(of: prefix) }.map { (path: $0.key.text, clock: $0.value) }
    }

    /// Records that a path was written, which replaced everything below it.
    ///
    /// - Parameter sparing: Paths below it that kept their value, and so keep their clock.
    public mutating func write(
        _ path: String, by stamp: WriteStamp, revision: Revision, sparing: Set<ExactText> = []
    ) {
        var clock = covering(path).raised(by: stamp, revision: revision)
        for child in beneath(path) where !sparing.contains(child.path) {
            clock.absorb(child.clock)
            paths[child.path] = nil
        }
        paths[path] = clock
        collapse()
    }

    /// Replaces each revision, for a writer that learns the revisions only after the rules have run.
    public mutating func mapRevisions(_ transform: (Revision) -> Revision) {
        document.mapRevisions(transform)
        for path in paths.keys { paths[path]?.mapRevisions(transform) }
    }

    private mutating func collapse() {
        while paths.count > Self.cap {
            // Ties are broken by path, so that the result depends on the content only.
            guard let oldest = paths.min(by: { ($0.value.time, $0.key) < ($1.value.time, $1.key) }) else { return }
            paths[oldest.key] = nil
            var prefix = oldest.key.text[...]
            var absorbed = false
            while let dot = prefix.utf8.lastIndex(of: 0x2E) {
                prefix = prefix[..<dot]
                if paths[String(prefix)]?.absorb(oldest.value) != nil {
                    absorbed = true
                    break
                }
            }
            if !absorbed { document.absorb(oldest.value) }
        }
    }
}

extension FieldClock {
    /// The clock after a write by `stamp`.
    func raised(by stamp: WriteStamp, revision: Revision) -> FieldClock {
        FieldClock(
            time: max(time, stamp.time), author: stamp.author, revision: revision,
            foreign: author.hasSameBytes(as: stamp.author) ? foreign : self.revision)
    }

    /// Merges another clock into this one: the later time, write and foreign write win.
    mutating func absorb(_ other: FieldClock) {
        let foreigns = [
            foreign, other.foreign, other.author.hasSameBytes(as: author) ? nil : min(revision, other.revision),
        ]
        if other.revision > revision {
            revision = other.revision
            author = other.author
        }
        time = max(time, other.time)
        foreign = foreigns.compactMap { $0 }.max()
    }

    fileprivate mutating func mapRevisions(_ transform: (Revision) -> Revision) {
        revision = transform(revision)
        foreign = foreign.map(transform)
    }
}

import DocumentModel

/// Successive changesets of a ``PendingQueue``, with what is known of all of them together.
struct PendingPart: Sendable {
    /// How many changesets a part has at most: what a step copies when it changes one of them.
    static let limit = 64

    private(set) var changesets: [PendingChangeset] = []
    private(set) var waitingCount = 0
    private(set) var sentCount = 0
    private(set) var unresolvedCount = 0
    private(set) var suspectCount = 0
    /// A bit for each document that any of them writes, or has written before it left: a row of 64 bits as in `PendingChangeset`, chosen
    /// by other bits of the hash.
    private var masks = SIMD16<UInt64>()

    var isEmpty: Bool { changesets.isEmpty }
    var acknowledgedCount: Int { changesets.count - unresolvedCount }
    /// Whether a version lies between its first and its last.
    func spans(_ version: Int64) -> Bool {
        starts(by: version) && changesets[changesets.count - 1].changeset.version >= version
    }
    /// Whether it has a version that isn't later.
    func starts(by version: Int64) -> Bool { !isEmpty && changesets[0].changeset.version <= version }

    private static func row(of key: DocumentKey) -> Int { (key.hashValue >> 6) & 15 }

    /// Whether one of them may have an operation on a document.
    func mayWrite(_ key: DocumentKey) -> Bool {
        masks[Self.row(of: key)] & PendingChangeset.bit(of: key) != 0
    }

    mutating func append(_ changeset: PendingChangeset) {
        for key in changeset.keys { masks[Self.row(of: key)] |= PendingChangeset.bit(of: key) }
        count(changeset, 1)
        changesets.append(changeset)
    }

    mutating func replace(at place: Int, with changeset: PendingChangeset) {
        count(changesets[place], -1)
        count(changeset, 1)
        changesets[place] = changeset
    }

    mutating func remove(at place: Int) -> PendingChangeset {
        count(changesets[place], -1)
        return changesets.remove(at: place)
    }

    private mutating func count(_ changeset: PendingChangeset, _ difference: Int) {
        if changeset.state == .waiting { waitingCount += difference }
        if changeset.state == .sent { sentCount += difference }
        if changeset.isUnresolved { unresolvedCount += difference }
        if changeset.isSuspect { suspectCount += difference }
    }

    /// Whether both are copies of one part that neither side has changed since.
    func isShared(with other: PendingPart) -> Bool {
        changesets.withUnsafeBufferPointer { mine in
            other.changesets.withUnsafeBufferPointer {
                mine.baseAddress == $0.baseAddress && mine.count == $0.count
            }
        }
    }
}

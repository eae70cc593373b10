/// A state of a partition's history, with which new clients begin.
///
/// It is a number of changesets that make the state of a version from nothing. A client that begins with it has them in place of the
/// history's entries up to that version: the last of them has the snapshot's version, the others those before it.
package struct HistorySnapshot: Sendable, Hashable {
    /// The version whose state it is.
    package let version: Int64
    /// The number of changesets.
    package let parts: Int64
    /// When the newest change in it was made, in milliseconds since 2015.
    package let originTime: Int64

    package init(version: Int64, parts: Int64, originTime: Int64) {
        self.version = version
        self.parts = parts
        self.originTime = originTime
    }

    /// The version before its first changeset.
    package var beginning: Int64 { version - parts }
}

/// A state of a partition's history, with which new clients begin.
///
/// It is a number of changesets that make the state of a version from nothing. A client that begins with it has them in place of the
/// history's entries up to that version: the last of them has the snapshot's version, the others those before it.
struct RealmSnapshot: Sendable, Hashable {
    /// The version whose state it is.
    let version: Int64
    /// The number of changesets.
    let parts: Int64
    /// When the newest change in it was made, in milliseconds since 2015.
    let originTime: Int64

    /// The version before its first changeset.
    var beginning: Int64 { version - parts }
}

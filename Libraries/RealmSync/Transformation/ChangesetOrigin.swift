/// When and where a changeset was made. It decides which of two conflicting writes wins: the later one, and of two at the same time
/// the one from the file with the higher number.
public struct ChangesetOrigin: Hashable, Comparable, Sendable {
    /// Milliseconds since 2015-01-01T00:00:00Z, by the clock of the client.
    public var timestamp: UInt64
    /// The client file in which it was made; 1 is the server.
    public var fileIdent: UInt64

    public init(timestamp: UInt64, fileIdent: UInt64) {
        self.timestamp = timestamp
        self.fileIdent = fileIdent
    }

    public static func < (a: Self, b: Self) -> Bool {
        a.timestamp != b.timestamp ? a.timestamp < b.timestamp : a.fileIdent < b.fileIdent
    }
}

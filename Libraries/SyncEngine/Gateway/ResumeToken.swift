import DocumentModel

/// Where a device whose catch-up was cut continues: what the gateway sends with each chunk that isn't final, and the device sends
/// back when it subscribes again. Devices don't interpret it.
///
/// The revision alone isn't enough. The staged chunks contain what had a revision up to it at the time of their reads; a document that
/// changed later was left for a later chunk. After a restore that document has an earlier revision again, and would be left out.
public struct ResumeToken: Hashable, Sendable {
    /// The revision up to which the chunks were sent.
    public var revision: Revision
    /// The epoch of the database in which they were read.
    public var epoch: Int32
    /// Tombstones up to this revision aren't needed, since the catch-up began with the whole state after they were made.
    public var horizon: Revision

    public init(revision: Revision, epoch: Int32, horizon: Revision) {
        self.revision = revision
        self.epoch = epoch
        self.horizon = horizon
    }

    /// The longest text of a token that is read, in bytes.
    public static let maximumBytes = 128

    /// The token's text on the wire.
    public var text: String { "\(revision)/\(epoch)/\(horizon)" }

    /// Parses a token.
    ///
    /// - Returns: `nil` for a text that no gateway of this version sends; the catch-up begins again then.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maximumBytes, parts.count == 3, let revision = Revision(String(parts[0]) ?? ""),
            let epoch = String(parts[1]).flatMap({ Int32($0) }), let horizon = Revision(String(parts[2]) ?? "")
        else { return nil }
        self.init(revision: revision, epoch: epoch, horizon: horizon)
    }
}

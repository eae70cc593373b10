import DocumentModel

/// The author and the time of a write.
public struct WriteStamp: Hashable, Sendable {
    /// The device's id, which breaks ties between equal times; empty for a write from the server's side.
    @ExactText public var author: String
    /// The writer's hybrid time; for a device, as corrected by `ClockCorrection`.
    public var time: HybridTime

    public init(author: String, time: HybridTime) {
        self.author = author
        self.time = time
    }

    /// The author of writes from the server's side: functions, triggers, the data API, a person with `psql`.
    public static let serverAuthor = ""
}

/// The last write of one path of a document.
public struct FieldClock: Hashable, Sendable {
    /// The latest time of any write of the path. It never decreases.
    public var time: HybridTime
    /// The author of the last write.
    @ExactText public var author: String
    /// The revision of the last write.
    public var revision: Revision
    /// The revision of the last write by an author other than `author`; `nil` when there was none.
    public var foreign: Revision?

    public init(time: HybridTime, author: String, revision: Revision, foreign: Revision? = nil) {
        self.time = time
        self.author = author
        self.revision = revision
        self.foreign = foreign
    }
}

import DocumentModel

/// Who writes, and when.
public struct WriteStamp: Hashable, Sendable {
    /// The device's id, which breaks ties between equal times; empty for a write from the server's side.
    @ExactText public var author: String
    /// The writer's hybrid time, for a device as `ClockCorrection` gives it.
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
    /// The latest time that any write of the path had. It never goes back.
    public var time: HybridTime
    /// Who wrote last.
    @ExactText public var author: String
    /// The revision of the last write.
    public var revision: Revision
    /// The revision of the last write by somebody other than `author`; `nil` when there was none.
    public var foreign: Revision?

    public init(time: HybridTime, author: String, revision: Revision, foreign: Revision? = nil) {
        self.time = time
        self.author = author
        self.revision = revision
        self.foreign = foreign
    }
}

public import DocumentModel

/// `presence` of `partita.json`: the field of a document per user that shows whether the user is online.
public struct PresenceField: Hashable, Sendable {
    @ExactText public var database: String
    @ExactText public var collection: String
    /// Dotted path of the field that is written.
    @ExactText public var field: String
    /// The field that holds the user's id; `_id` by default.
    @ExactText public var userField: String
    /// The value that is written while any device of the user is connected.
    @ExactText public var online: String
    /// The value that is written after the last device has disconnected.
    @ExactText public var offline: String
    /// Dotted path of a date that is set to the time at which the user was last seen; `nil` for none.
    public var lastSeenField: String?
}

/// One of `media` in `partita.json`: a binary field whose bytes are moved to the object store.
public struct MediaField: Hashable, Sendable {
    @ExactText public var database: String
    @ExactText public var collection: String
    /// Dotted path of the binary.
    @ExactText public var field: String
    /// Dotted path of the string that gets the link; the binary is removed in the same update.
    @ExactText public var linkField: String
    /// Dotted path of the binary that gets a thumbnail if it has no value yet; `nil` for no thumbnail.
    public var thumbnailField: String?
    /// The longer side of a thumbnail, in pixels.
    public var thumbnailPixels: Int
    /// The minimum size in bytes; smaller binaries stay in the document.
    public var minimumBytes: Int
}

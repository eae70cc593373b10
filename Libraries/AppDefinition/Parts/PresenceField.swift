public import DocumentModel

/// `presence` of `partita.json`: the field of a document per user that shows whether the user is online.
public struct PresenceField: Hashable, Sendable {
    @ExactText public var database: String
    @ExactText public var collection: String
    /// Dotted path of the field that is written.
    @ExactText public var field: String
    /// The field that holds the user's id; `_id` where the app says nothing.
    @ExactText public var userField: String
    /// What is written while any device of the user is connected.
    @ExactText public var online: String
    /// What is written when the last one is gone.
    @ExactText public var offline: String
    /// Dotted path of a date that is set to the moment the user was last seen; `nil` for none.
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
    /// Dotted path of the binary that gets a thumbnail where there is none yet; `nil` for no thumbnail.
    public var thumbnailField: String?
    /// The longer side of a thumbnail, in pixels.
    public var thumbnailPixels: Int
    /// Binaries that are smaller than this stay in the document, in bytes.
    public var minimumBytes: Int
}

/// By what the store of the media's objects is told from others: it has an object with this key, whose text Postgres has as well.
public enum MediaStoreMark {
    /// The object's key: in a directory, the name of a file.
    public static let key = ".partita-store"
}

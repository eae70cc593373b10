package import DocumentModel

/// What is known of a partition's history.
package struct HistoryStanding: Sendable {
    /// The newest version; 0 when there is no history yet.
    package var version: Int64
    /// Its secret; 0 when there is no history yet.
    package var salt: Int64
    /// The version after which all entries are there: clients that have less begin anew, but for those that have a snapshot.
    package var base: Int64
    /// The revision up to which changes of documents are in it.
    package var revision: Revision
    /// The changeset that makes its classes.
    package var schema: [UInt8]
    /// The version of the app that it was brought up to.
    package var appVersion: Int64
    /// The collections whose changes of documents it has, as a JSON array in the order of their bytes.
    package var collections: String

    package init(
        version: Int64, salt: Int64, base: Int64, revision: Revision, schema: [UInt8], appVersion: Int64,
        collections: String
    ) {
        self.version = version
        self.salt = salt
        self.base = base
        self.revision = revision
        self.schema = schema
        self.appVersion = appVersion
        self.collections = collections
    }

    /// A history without anything.
    package static let empty = HistoryStanding(
        version: 0, salt: 0, base: 0, revision: Revision(epoch: 0, number: 0), schema: [], appVersion: 0,
        collections: "[]")
}

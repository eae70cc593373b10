/// A state of a history that a client has.
///
/// A database that is restored from a backup may get other entries under the versions that it had. The secret tells them apart.
package struct HistoryPosition: Sendable, Hashable {
    package var version: Int64
    /// The version's secret; `nil` if there is no entry of the version: the client has nothing yet.
    package var salt: Int64?

    package init(version: Int64, salt: Int64?) {
        self.version = version
        self.salt = salt
    }
}

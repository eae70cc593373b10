import DocumentModel
import RealmSync

/// A client as the sessions' vectors describe it: its own changesets, in the form that follows what it has downloaded, and its cursor.
struct ModelClient {
    let ident: UInt64
    private(set) var unsent: [UploadedChangeset] = []
    var cursor: UInt64
    private var own: [HistoryWindow.Entry] = []

    init(ident: UInt64, cursor: UInt64) {
        self.ident = ident
        self.cursor = cursor
    }

    mutating func commit(_ upload: UploadedChangeset) throws {
        unsent.append(upload)
        let origin = ChangesetOrigin(timestamp: upload.originTimestamp, fileIdent: ident)
        own.append(
            .init(
                version: upload.clientVersion,
                changeset: MergedChangeset(try Changeset(upload.bytes), origin: origin)))
    }

    /// Takes the oldest changesets that weren't sent.
    mutating func upload(count: Int) -> [UploadedChangeset] {
        defer { unsent.removeFirst(count) }
        return Array(unsent.prefix(count))
    }

    /// What it applies of a download.
    mutating func apply(_ download: DownloadedChangesets) throws -> [[UInt8]] {
        cursor = download.serverVersion
        let incoming = try download.changesets.map { changeset in
            HistoryWindow.Incoming(
                base: changeset.clientVersion,
                changeset: MergedChangeset(
                    try Changeset(changeset.bytes),
                    origin: ChangesetOrigin(
                        timestamp: changeset.originTimestamp, fileIdent: changeset.originFileIdent)))
        }
        var window = HistoryWindow(own), transformer = Transformer()
        let applied = try window.integrate(incoming, transformer: &transformer).map { $0.changeset.encoded() }
        own = try window.entries.map { entry in
            // It stores what has changed, and reads it again for the next merge.
            guard entry.changeset.isModified else { return entry }
            let stored = try Changeset(entry.changeset.changeset.encoded())
            return .init(version: entry.version, changeset: MergedChangeset(stored, origin: entry.changeset.origin))
        }
        return applied
    }
}

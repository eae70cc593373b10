/// The forms in which a client has entries of the history, as far as they differ from these.
package struct EntryForms: Sendable {
    /// The client's file, with the client's newest version in the history: with a newer one there may be more forms.
    private let salt: Int64
    private let clientVersion: Int64
    /// The forms of all entries after this version are here.
    private let base: Int64
    /// By version, each with the secret of the entry: a restored database may have another entry under the same version.
    private let forms: [Int64: (salt: Int64, bytes: [UInt8])]
    let bytes: Int

    /// - Parameters:
    ///   - forms: By version.
    ///   - entries: All entries after the version.
    package init(of file: ClientFile, after base: Int64, _ forms: [UInt64: [UInt8]], _ entries: [HistoryEntry]) {
        salt = file.salt
        clientVersion = file.clientVersion
        self.base = base
        var known: [Int64: (salt: Int64, bytes: [UInt8])] = [:], bytes = 0
        for entry in entries {
            guard let form = forms[UInt64(entry.version)] else { continue }
            known[entry.version] = (entry.salt, form)
            bytes += form.count
        }
        self.forms = known
        self.bytes = bytes
    }

    /// Those of entries after a version; `nil` if they may not be all here.
    package func forms(of entries: [HistoryEntry], after version: Int64, for file: ClientFile) -> [UInt64: [UInt8]]? {
        guard file.salt == salt, file.clientVersion == clientVersion, version >= base else { return nil }
        var found: [UInt64: [UInt8]] = [:]
        for entry in entries {
            if let form = forms[entry.version], form.salt == entry.salt { found[UInt64(entry.version)] = form.bytes }
        }
        return found
    }
}

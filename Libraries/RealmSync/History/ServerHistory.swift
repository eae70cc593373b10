import DocumentModel

/// The history of a partition: the one order of all changesets, and how each client sees it (Realm sync protocol, identities and
/// versions).
///
/// A client uploads what it did on an older state. The server merges that with what others have done since and appends the result;
/// the others then have a form in which they follow the upload, which is what the client makes of them, too. These reciprocal forms
/// are kept for each client, because its next upload may still be based on a state before them.
public struct ServerHistory: Sendable {
    /// A changeset of the history.
    public struct Entry: Hashable, Sendable {
        /// The client file in which it was made; 1 is the server.
        public let fileIdent: UInt64
        /// The version of that client; 0 for the server's.
        public let clientVersion: UInt64
        /// When it was made, in milliseconds since 2015.
        public let originTimestamp: UInt64
        /// The changeset as it is applied at this place; empty when nothing is left of it.
        public let bytes: [UInt8]
        /// The objects that it changes, if it changes nothing else and they are known.
        var objects: Set<ObjectKey>?

        public init(fileIdent: UInt64, clientVersion: UInt64, originTimestamp: UInt64, bytes: [UInt8]) {
            self.fileIdent = fileIdent
            self.clientVersion = clientVersion
            self.originTimestamp = originTimestamp
            self.bytes = bytes
        }
    }

    /// What is kept of a client.
    private struct Client {
        /// The versions of the history at which its changesets are, and its own versions, both ascending.
        var integrated: [(serverVersion: UInt64, clientVersion: UInt64)] = []
        /// What others have done, by version, where its reciprocal form differs.
        var reciprocal: [UInt64: [UInt8]] = [:]
        /// The version up to which the client has the history: none of its uploads is based on an older one.
        var base: UInt64 = 0

        var clientVersion: UInt64 { integrated.last?.clientVersion ?? 0 }
    }

    /// The version before the first entry.
    public let baseVersion: UInt64
    /// The entries; the first has the version after `baseVersion`.
    public private(set) var entries: [Entry] = []
    private var clients: [UInt64: Client] = [:]
    private let limits: ChangesetLimits
    private let budget: Int

    /// A history that begins after a version.
    /// - Parameters:
    ///   - limits: Those of a changeset that is uploaded; that of instructions holds for all of an upload.
    ///   - budget: The work of one upload, see `Transformer`.
    public init(
        baseVersion: UInt64 = 0, limits: ChangesetLimits = ChangesetLimits(), budget: Int = Transformer.defaultBudget
    ) {
        self.baseVersion = baseVersion
        self.limits = limits
        self.budget = budget
    }

    /// A part of a history that is kept elsewhere, as one client sees it.
    /// - Parameters:
    ///   - baseVersion: The version before the first entry.
    ///   - entries: All from there on; those that aren't for the client have no bytes.
    ///   - clientVersion: The newest version of the client in the history up to `baseVersion`.
    ///   - acknowledged: The version up to which the client has the history.
    ///   - reciprocal: What others have done in the form that differs for the client, by version.
    public init(
        baseVersion: UInt64, entries: [Entry], client ident: UInt64, clientVersion: UInt64, acknowledged: UInt64 = 0,
        reciprocal: [UInt64: [UInt8]] = [:], limits: ChangesetLimits = ChangesetLimits(),
        budget: Int = Transformer.defaultBudget
    ) {
        self.init(baseVersion: baseVersion, limits: limits, budget: budget)
        self.entries = entries
        var client = Client()
        client.base = acknowledged
        client.reciprocal = reciprocal
        client.integrated = [(baseVersion, clientVersion)]
        for (offset, entry) in entries.enumerated() where entry.fileIdent == ident {
            client.integrated.append((baseVersion + 1 + UInt64(offset), entry.clientVersion))
        }
        clients[ident] = client
    }

    /// The newest version.
    public var version: UInt64 { baseVersion + UInt64(entries.count) }

    /// The newest version of a client that was integrated.
    public func clientVersion(of ident: UInt64) -> UInt64 { clients[ident]?.clientVersion ?? 0 }

    /// What others have done in the form that differs for a client, by version.
    public func reciprocal(of ident: UInt64) -> [UInt64: [UInt8]] { clients[ident]?.reciprocal ?? [:] }

    /// Appends an entry that needs no merge: one of the server. Its bytes have to be a changeset.
    /// - Returns: Its version.
    @discardableResult
    public mutating func append(_ bytes: [UInt8], originTimestamp: UInt64) -> UInt64 {
        entries.append(Entry(fileIdent: 1, clientVersion: 0, originTimestamp: originTimestamp, bytes: bytes))
        return version
    }

    /// Integrates what a client has uploaded, all or nothing. Versions that were integrated before are left out: a client sends again
    /// what isn't acknowledged.
    /// - Returns: The entries that were appended.
    public mutating func integrate(
        _ uploads: [UploadedChangeset], from ident: UInt64
    ) throws(HistoryError) -> ArraySlice<Entry> {
        var client = clients[ident] ?? Client()
        var incoming: [HistoryWindow.Incoming] = [], new: [UploadedChangeset] = []
        var last = client.clientVersion, rest = limits
        for upload in uploads where upload.clientVersion > client.clientVersion {
            guard upload.clientVersion > last else { throw .badClientVersion(upload.clientVersion) }
            guard (max(client.base, baseVersion)...version).contains(upload.serverVersion) else {
                throw .badServerVersion(upload.serverVersion)
            }
            guard upload.originFileIdent == 0 else { throw .badOriginFileIdent(upload.originFileIdent) }
            last = upload.clientVersion
            let origin = ChangesetOrigin(timestamp: upload.originTimestamp, fileIdent: ident)
            let changeset = try changeset(upload, origin, limits: rest)
            rest.instructions -= changeset.changeset.instructions.count
            incoming.append(.init(base: upload.serverVersion, changeset: changeset))
            new.append(upload)
        }
        guard let base = incoming.map(\.base).min() else { return entries[entries.endIndex...] }
        var window = try window(of: client, ident, after: base, meeting: Self.objects(of: incoming))
        var transformer = Transformer(budget: budget)
        let merged: [MergedChangeset]
        do throws(TransformError) {
            merged = try window.integrate(incoming, transformer: &transformer)
        } catch {
            throw .contradictory(error)
        }
        for entry in window.entries where entry.changeset.isModified {
            client.reciprocal[entry.version] = entry.changeset.changeset.encoded()
        }
        let start = entries.endIndex
        for (upload, changeset) in zip(new, merged) {
            var entry = Entry(
                fileIdent: changeset.origin.fileIdent, clientVersion: upload.clientVersion,
                originTimestamp: upload.originTimestamp, bytes: changeset.changeset.encoded())
            entry.objects = changeset.changeset.changedObjects
            entries.append(entry)
            client.integrated.append((version, upload.clientVersion))
        }
        clients[ident] = client
        return entries[start...]
    }

    private func changeset(
        _ upload: UploadedChangeset, _ origin: ChangesetOrigin, limits: ChangesetLimits
    ) throws(HistoryError) -> MergedChangeset {
        do throws(ChangesetError) {
            return MergedChangeset(try Changeset(upload.bytes, limits: limits), origin: origin)
        } catch {
            throw .unreadable(clientVersion: upload.clientVersion, error)
        }
    }

    /// The objects that uploads change; `nil` if they change classes, too.
    private static func objects(of incoming: [HistoryWindow.Incoming]) -> Set<ObjectKey>? {
        var objects: Set<ObjectKey> = []
        for upload in incoming {
            guard let changed = upload.changeset.changeset.changedObjects else { return nil }
            objects.formUnion(changed)
        }
        return objects
    }

    /// What others have done after a version, as a client has it.
    /// - Parameter objects: Those that the client has changed; what others have done to other objects is left out, since no rule of merging
    ///   changes either then. `nil` for all.
    private func window(
        of client: Client, _ ident: UInt64, after base: UInt64, meeting objects: Set<ObjectKey>?
    ) throws(HistoryError) -> HistoryWindow {
        var window: [HistoryWindow.Entry] = []
        for (offset, entry) in entries[Int(base - baseVersion)...].enumerated() where entry.fileIdent != ident {
            if let objects, let others = entry.objects, others.isDisjoint(with: objects) { continue }
            let version = base + 1 + UInt64(offset), bytes = client.reciprocal[version] ?? entry.bytes
            guard !bytes.isEmpty else { continue }
            let origin = ChangesetOrigin(timestamp: entry.originTimestamp, fileIdent: entry.fileIdent)
            do throws(ChangesetError) {
                window.append(
                    .init(
                        version: version,
                        changeset: MergedChangeset(try Changeset(bytes, limits: .none), origin: origin)))
            } catch {
                throw .damagedHistory(serverVersion: version, error)
            }
        }
        return HistoryWindow(window)
    }

    /// What a client doesn't have yet.
    /// - Parameters:
    ///   - cursor: The version up to which it has the history; at most `version`.
    ///   - maximumBytes: Where the first part ends; it has at least one changeset.
    public func download(
        for ident: UInt64, after cursor: UInt64, maximumBytes: Int = 16 << 20
    ) -> DownloadedChangesets {
        let integrated = clients[ident]?.integrated ?? []
        var download = DownloadedChangesets(
            serverVersion: max(cursor, baseVersion),
            clientVersion: integrated.last { $0.serverVersion <= cursor }?.clientVersion ?? 0,
            uploadClientVersion: integrated.last?.clientVersion ?? 0)
        var bytes = 0
        for entry in entries.dropFirst(Int(download.serverVersion - baseVersion)) {
            let version = download.serverVersion + 1
            if entry.fileIdent == ident {
                download.clientVersion = entry.clientVersion
            } else if !entry.bytes.isEmpty {
                bytes += entry.bytes.count
                guard bytes <= maximumBytes || download.changesets.isEmpty else { break }
                download.changesets.append(
                    DownloadedChangeset(
                        serverVersion: version, clientVersion: download.clientVersion,
                        originTimestamp: entry.originTimestamp, originFileIdent: entry.fileIdent, bytes: entry.bytes))
            }
            download.serverVersion = version
        }
        return download
    }

    /// Notes up to which version a client has the history: no later upload may be based on an older one, so that reciprocal forms up
    /// to there are no longer needed.
    public mutating func acknowledge(_ version: UInt64, by ident: UInt64) {
        var client = clients[ident] ?? Client()
        guard version > client.base, version <= self.version else { return }
        client.base = version
        client.reciprocal = client.reciprocal.filter { $0.key > version }
        clients[ident] = client
    }
}

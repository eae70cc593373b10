import DocumentModel
import RealmSync
import Testing
import Vectors

struct ServerHistoryTests {
    @Test func `sessions of several clients take the course they take with realm-core`() throws {
        let sessions = try RealmVectors.objects("sessions.jsonl.gz")
        #expect(sessions.count == 3254)
        var counts = (uploads: 0, downloads: 0, reciprocal: 0)
        for session in sessions {
            var world = ModelSession(baseVersion: UInt64(session.integer("base_version")))
            let seed = session.integer("seed")
            for (number, event) in session.documents("events").enumerated() {
                let faults = try world.play(event)
                #expect(faults.isEmpty, "seed \(seed), event \(number): \(faults)")
                if event["upload"] != nil { counts.uploads += 1 }
                if event["download"] != nil { counts.downloads += 1 }
                if event["reciprocal"]?.documentValue?.fields.isEmpty == false { counts.reciprocal += 1 }
            }
        }
        #expect(counts == (16_533, 21_718, 5_624))
    }
}

extension ServerHistoryTests {
    /// A changeset that creates an object.
    private static func creation(_ key: Int64) -> [UInt8] {
        var changeset = Changeset()
        let table = changeset.strings.intern("T".utf8)
        changeset.instructions = [
            .createObject(table: table, .int(key)), .createObject(table: table, .int(key + 1)),
        ]
        return changeset.encoded()
    }

    private static func upload(
        _ version: UInt64, base: UInt64 = 0, ident: UInt64 = 0, _ bytes: [UInt8]? = nil
    ) -> UploadedChangeset {
        UploadedChangeset(
            clientVersion: version, serverVersion: base, originTimestamp: 1, originFileIdent: ident,
            bytes: bytes ?? creation(Int64(version)))
    }

    @Test func `a bad upload is refused as a whole`() throws {
        var history = ServerHistory(limits: ChangesetLimits(instructions: 5))
        try #expect(history.integrate([Self.upload(1), Self.upload(3)], from: 2).count == 2)
        func refusal(_ uploads: [UploadedChangeset]) -> HistoryError? {
            do throws(HistoryError) {
                _ = try history.integrate(uploads, from: 2)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal([Self.upload(4, base: 3)]) == .badServerVersion(3))
        #expect(refusal([Self.upload(5), Self.upload(5)]) == .badClientVersion(5))
        #expect(refusal([Self.upload(5), Self.upload(4)]) == .badClientVersion(4))
        #expect(refusal([Self.upload(4, ident: 7)]) == .badOriginFileIdent(7))
        guard case .unreadable(5, let error) = refusal([Self.upload(4), Self.upload(5, [1])]) else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .truncated)
        // The instructions of all changesets count.
        guard case .unreadable(6, let excess) = refusal([Self.upload(4), Self.upload(5), Self.upload(6)]) else {
            Issue.record("not refused")
            return
        }
        #expect(excess.code == .tooLarge)
        #expect(history.version == 2)
        #expect(history.clientVersion(of: 2) == 3)
    }

    /// Each change of the base merges with all of the history after it.
    @Test func `an upload can't have its work done again and again`() throws {
        var history = ServerHistory()
        var large = Changeset()
        for number in 0..<20_000 { _ = large.strings.intern("string \(number)".utf8) }
        large.instructions = [.eraseObject(table: InternString(index: 0), .int(1))]
        for _ in 0..<10 { history.append(large.encoded(), originTimestamp: 1) }
        let uploads = (1...1000).map { Self.upload($0, base: $0 % 2) }
        let error = #expect(throws: HistoryError.self) { try history.integrate(uploads, from: 2) }
        guard case .contradictory(let reason) = error else {
            Issue.record("another error")
            return
        }
        #expect(reason.code == .tooMuchWork)
    }

    @Test func `what a client has acknowledged is no base any more`() throws {
        var history = ServerHistory(baseVersion: 10)
        history.append(Self.creation(1), originTimestamp: 5)
        var erasure = Changeset()
        erasure.instructions = [.eraseObject(table: erasure.strings.intern("T".utf8), .int(1))]
        _ = try history.integrate([Self.upload(1, base: 10, erasure.encoded())], from: 2)
        #expect(history.reciprocal(of: 2).keys.sorted() == [11])
        history.acknowledge(11, by: 2)
        #expect(history.reciprocal(of: 2) == [:])
        #expect(throws: HistoryError.badServerVersion(10)) {
            try history.integrate([Self.upload(2, base: 10)], from: 2)
        }
        _ = try history.integrate([Self.upload(2, base: 11)], from: 2)
        #expect(history.version == 13)
    }

    @Test func `a download ends where it is large enough`() throws {
        var history = ServerHistory()
        for key in 0..<5 { history.append(Self.creation(Int64(key)), originTimestamp: 1) }
        _ = try history.integrate([Self.upload(9, base: 5)], from: 2)
        let size = Self.creation(0).count
        var download = history.download(for: 2, after: 0, maximumBytes: 2 * size)
        #expect(download.changesets.map(\.serverVersion) == [1, 2])
        #expect([download.serverVersion, download.clientVersion, download.uploadClientVersion] == [2, 0, 9])
        download = history.download(for: 2, after: 2, maximumBytes: 1)
        #expect(download.changesets.map(\.serverVersion) == [3])
        download = history.download(for: 2, after: 3)
        #expect(download.changesets.map(\.serverVersion) == [4, 5])
        #expect([download.serverVersion, download.clientVersion] == [6, 9])
        #expect(history.download(for: 3, after: 5).changesets.map(\.originFileIdent) == [2])
    }
}

/// A server and its clients, which play a session.
private struct ModelSession {
    private var server: ServerHistory
    private var clients: [UInt64: ModelClient] = [:]

    init(baseVersion: UInt64) { server = ServerHistory(baseVersion: baseVersion) }

    /// - Returns: What differs from the event.
    mutating func play(_ event: Document) throws -> [String] {
        let (name, ident) = event.fields.first.map { ($0.key, UInt64($0.value.int64Value ?? 0)) } ?? ("", 0)
        var client = clients[ident] ?? ModelClient(ident: ident, cursor: server.baseVersion)
        defer { clients[ident] = client }
        switch name {
        case "commit":
            for changeset in event.documents("changesets") {
                try client.commit(
                    UploadedChangeset(
                        clientVersion: UInt64(changeset.integer("version")),
                        serverVersion: UInt64(changeset.integer("last_integrated")),
                        originTimestamp: UInt64(changeset.integer("origin_timestamp")),
                        bytes: changeset.bytes("changeset")))
            }
            return []
        case "upload": return try upload(event, &client)
        default: return try download(event, &client)
        }
    }

    private mutating func upload(_ event: Document, _ client: inout ModelClient) throws -> [String] {
        let expected = event.documents("history"), version = server.version
        let uploads = client.upload(count: expected.count)
        let appended = try server.integrate(uploads, from: client.ident)
        // What is sent again is left out.
        _ = try server.integrate(uploads, from: client.ident)
        var faults: [String] = []
        if appended.count != expected.count || server.version != version + UInt64(expected.count) {
            faults.append("count")
        }
        for (offset, (entry, expected)) in zip(appended, expected).enumerated() {
            if version + 1 + UInt64(offset) != UInt64(expected.integer("server_version")) { faults.append("version") }
            if entry.clientVersion != UInt64(expected.integer("client_version")) { faults.append("client version") }
            if entry.originTimestamp != UInt64(expected.integer("origin_timestamp")) { faults.append("timestamp") }
            if entry.bytes != expected.bytes("changeset") { faults.append("changeset \(offset)") }
        }
        let reciprocal = Dictionary(
            uniqueKeysWithValues: (event["reciprocal"]?.documentValue?.fields ?? []).map {
                (UInt64($0.key) ?? 0, hexBytes($0.value.stringValue ?? ""))
            })
        if server.reciprocal(of: client.ident) != reciprocal { faults.append("reciprocal") }
        return faults
    }

    private mutating func download(_ event: Document, _ client: inout ModelClient) throws -> [String] {
        let download = server.download(for: client.ident, after: client.cursor)
        var faults: [String] = []
        if download.serverVersion != UInt64(event.integer("download_server_version")) { faults.append("server cursor") }
        if download.clientVersion != UInt64(event.integer("download_client_version")) { faults.append("client cursor") }
        if download.uploadClientVersion != UInt64(event.integer("upload_client_version")) {
            faults.append("upload cursor")
        }
        let sent = event.documents("changesets").map { [$0.integer("server_version"), $0.integer("client_version")] }
        if download.changesets.map({ [Int64($0.serverVersion), Int64($0.clientVersion)] }) != sent {
            faults.append("sent")
        }
        if try client.apply(download) != event.byteArrays("applied") { faults.append("applied") }
        return faults
    }
}

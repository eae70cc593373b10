import DocumentModel
import RealmSync
import Testing

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

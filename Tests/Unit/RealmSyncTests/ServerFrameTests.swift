import DocumentModel
import RealmSync
import Testing
import Vectors

struct ServerFrameTests {
    @Test func `what the server sends is written as the client reads it`() throws {
        let vectors = try RealmVectors.objects("frames.jsonl.gz").filter { $0["direction"]?.stringValue == "s>c" }
        #expect(vectors.count > 150)
        var compressed = 0
        for vector in vectors {
            let head = vector["head"]?.stringValue ?? "", words = head.split(separator: " ").map(String.init)
            let decoded = try #require(vector["decoded"]?.documentValue)
            let frame = try #require(try Self.frame(words, decoded), "\(head)")
            let bytes = try #require(frame.encoded(version: 14, deflate: ZlibStream.deflate))
            if words[0] == "json_error" {
                let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
                let json = try #require(try ExtendedJSON.parse(Array(parts[1])).documentValue)
                #expect(
                    String(decoding: parts[0], as: UTF8.self) == "json_error \(words[1]) \(parts[1].count) \(words[3])")
                let expected = try #require(decoded["json"]?.documentValue)
                #expect(Self.sorted(json) == Self.sorted(expected))
            } else {
                var body = vector.bytes("body")
                if words[0] == "download", words[9] == "1" {
                    compressed += 1
                    body = try #require(ZlibStream.deflate(body))
                }
                #expect(bytes == Array(head.utf8) + [UInt8(ascii: "\n")] + body, "\(head)")
            }
        }
        #expect(compressed == 1)
    }

    private static func sorted(_ document: Document) -> Document {
        Document(fields: document.fields.sorted { $0.key < $1.key })
    }

    /// The message that a vector describes.
    private static func frame(_ words: [String], _ decoded: Document) throws -> ServerFrame? {
        func number(_ name: String) -> UInt64 { UInt64(decoded.integer(name)) }
        let session = UInt64(words[words[0] == "json_error" ? 3 : 1]) ?? 0
        switch words[0] {
        case "ident":
            return .ident(session: session, fileIdent: number("file_ident"), salt: number("file_ident_salt"))
        case "mark": return .mark(session: session, request: number("request"))
        case "unbound": return .unbound(session: session)
        case "pong": return .pong(timestamp: number("timestamp"))
        case "json_error": return .error(session: session, try error(number("code"), decoded["json"]?.documentValue))
        case "download":
            var changesets = DownloadedChangesets(
                serverVersion: number("download_server_version"), clientVersion: number("download_client_version"),
                uploadClientVersion: number("upload_client_version"))
            changesets.changesets = decoded.documents("changesets").map {
                DownloadedChangeset(
                    serverVersion: UInt64($0.integer("server_version")),
                    clientVersion: UInt64($0.integer("client_version")),
                    originTimestamp: UInt64($0.integer("origin_timestamp")),
                    originFileIdent: UInt64($0.integer("origin_file_ident")), bytes: $0.bytes("changeset"))
            }
            return .download(
                DownloadFrame(
                    session: session, changesets: changesets, latestServerVersion: number("latest_server_version"),
                    latestServerVersionSalt: number("latest_server_version_salt"),
                    uploadServerVersion: number("upload_server_version"),
                    downloadableBytes: number("downloadable_bytes")))
        default: return nil
        }
    }

    private static func error(_ code: UInt64, _ json: Document?) throws -> SessionError {
        let json = try #require(json), code = try #require(RealmErrorCode(rawValue: Int(code)))
        let action = try #require(SessionError.Action(rawValue: json["action"]?.stringValue ?? ""))
        var error = SessionError(
            code, json["message"]?.stringValue ?? "", action: action, triesAgain: json["tryAgain"] == true)
        error.logURL = json["logURL"]?.stringValue ?? ""
        guard json["rejectedUpdates"] != nil else { return error }
        // The keys that the two errors of the vectors have.
        var strings = InternStrings()
        let keys = [
            "Item": PrimaryKey.objectId(ObjectId(high: 0x6500_0000_0000_0000, low: 0x4D)),
            "Person": .string(strings.intern("forbidden too".utf8)),
        ]
        error.compensatingWrite = SessionError.CompensatingWrite(
            serverVersion: UInt64(json.integer("compensatingWriteServerVersion")),
            rejectedClientVersion: UInt64(json.integer("rejectedClientVersion")),
            rejected: try json.documents("rejectedUpdates").map {
                let table = $0["table"]?.stringValue ?? ""
                return SessionError.RejectedObject(
                    reason: $0["reason"]?.stringValue ?? "", table: table, key: try #require(keys[table]),
                    strings: strings)
            })
        return error
    }

    private static func text(_ frame: ServerFrame, version: Int) -> String? {
        frame.encoded(version: version) { _ in nil }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `errors have the form of the connection's version`() {
        var error = SessionError(.sessionClosed, "caf\u{e9}", action: .transient, triesAgain: true)
        #expect(Self.text(.error(session: 3, error), version: 3) == "error 200 5 1 3\ncaf\u{e9}")
        error.backoff = SessionError.Backoff(seconds: 1, maximumSeconds: 300, multiplier: 2)
        let json =
            #"{"message":"café","action":"Transient","tryAgain":true,"shouldClientReset":false,"isRecoveryModeDisabled":false,"#
            + #""logURL":"","backoffIntervalSec":1,"backoffMaxDelaySec":300,"backoffMultiplier":2}"#
        #expect(Self.text(.error(session: 3, error), version: 4) == "json_error 200 \(json.utf8.count) 3\n\(json)")
    }

    @Test func `lines for the log are sent to versions that have them`() {
        let frame = ServerFrame.logMessage(session: 0, level: "debug", message: "hello", connection: "c1")
        #expect(Self.text(frame, version: 9) == nil)
        #expect(
            Self.text(frame, version: 10) == "log_message 0 44\n" + #"{"level":"debug","msg":"hello","co_id":"c1"}"#)
    }

    @Test func `a body is compressed if it is long and becomes shorter`() {
        func head(_ bytes: [UInt8], _ deflate: ([UInt8]) -> [UInt8]?) -> String {
            var changesets = DownloadedChangesets(serverVersion: 1, clientVersion: 0, uploadClientVersion: 0)
            changesets.changesets = [
                DownloadedChangeset(
                    serverVersion: 1, clientVersion: 0, originTimestamp: 1, originFileIdent: 1, bytes: bytes)
            ]
            let frame = DownloadFrame(
                session: 1, changesets: changesets, latestServerVersion: 1, latestServerVersionSalt: 5,
                uploadServerVersion: 0)
            let encoded = ServerFrame.download(frame).encoded(version: 14, deflate: deflate) ?? []
            return String(decoding: encoded.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
        let short = [UInt8](repeating: 7, count: 500), long = [UInt8](repeating: 7, count: 2000)
        #expect(head(short, ZlibStream.deflate) == "download 1 1 0 1 5 0 0 0 0 516 0")
        #expect(head(long) { _ in [1, 2, 3] } == "download 1 1 0 1 5 0 0 0 1 2018 3")
        #expect(head(long) { $0 + [1] } == "download 1 1 0 1 5 0 0 0 0 2018 0")
        #expect(head(long) { _ in nil } == "download 1 1 0 1 5 0 0 0 0 2018 0")
    }

    @Test func `numbers at which clients end the app's process can't be sent`() {
        let fatal = [104, 202, 203, 205, 207, 214, 215, 218, 219, 220, 221, 224]
        #expect(fatal.compactMap(RealmErrorCode.init).isEmpty)
    }
}

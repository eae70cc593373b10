import DocumentModel
import RealmSync
import SyncEngine
import Testing
import Vectors

struct ClientFrameTests {
    private static func vectors(_ direction: String) throws -> [Document] {
        try RealmVectors.objects("frames.jsonl.gz").filter { $0["direction"]?.stringValue == direction }
    }

    /// The bytes of a message: a body that the head calls compressed is compressed again, which may give another size.
    private static func message(_ vector: Document, flagAt place: Int) throws -> [UInt8] {
        var words = (vector["head"]?.stringValue ?? "").split(separator: " ").map(String.init)
        var body = vector.bytes("body")
        if words.count > place + 2, words[0] == "upload" || words[0] == "download", words[place] == "1" {
            body = try #require(ZlibStream.deflate(body))
            words[place + 2] = "\(body.count)"
        }
        return Array(words.joined(separator: " ").utf8) + [UInt8(ascii: "\n")] + body
    }

    @Test func `what a client sends is read`() throws {
        let vectors = try Self.vectors("c>s")
        #expect(vectors.count > 200)
        var compressed = 0
        for vector in vectors {
            let frame = try ClientFrame(Self.message(vector, flagAt: 2))
            let head = vector["head"]?.stringValue ?? ""
            #expect(try Self.decoded(frame) == Self.expected(vector), "\(head)")
            if case .upload(let upload) = frame, upload.body.isCompressed { compressed += 1 }
        }
        #expect(compressed == 1)
    }

    /// What the vectors say about a message, by names.
    private static func expected(_ vector: Document) -> [String: [String]] {
        let head = (vector["head"]?.stringValue ?? "").split(separator: " ").map(String.init)
        var expected = ["": Array(head)]
        let decoded = vector["decoded"]?.documentValue ?? Document()
        if head[0] == "bind" {
            expected["path"] = [decoded["path"]?.stringValue ?? "", decoded["token"]?.stringValue ?? ""]
        }
        if head[0] == "upload" {
            expected[""] = head.enumerated().filter { $0.offset != 4 }.map(\.element)
            expected["changesets"] = decoded.documents("changesets").map { changeset in
                changeset.fields.map { $0.value.stringValue ?? "\($0.value)" }.joined(separator: " ")
            }
        }
        return expected
    }

    /// The same of what was read, for a comparison with the vector.
    private static func decoded(_ frame: ClientFrame) throws -> [String: [String]] {
        func head(_ name: String, _ numbers: UInt64...) -> [String] { [name] + numbers.map { "\($0)" } }
        switch frame {
        case .bind(let bind):
            return [
                "": head(
                    "bind", bind.session, UInt64(bind.path.count), UInt64(bind.token.count), bind.needsIdent ? 1 : 0, 0),
                "path": [String(decoding: bind.path, as: UTF8.self), String(decoding: bind.token, as: UTF8.self)],
            ]
        case .ident(let ident):
            return [
                "": head(
                    "ident", ident.session, ident.fileIdent, ident.fileIdentSalt, ident.downloadServerVersion,
                    ident.downloadClientVersion, ident.latestServerVersion, ident.latestServerVersionSalt)
            ]
        case .upload(let upload):
            let changesets = try upload.changesets(inflate: ZlibStream.inflate)
            return [
                "": head(
                    "upload", upload.session, upload.body.isCompressed ? 1 : 0, UInt64(upload.body.size),
                    upload.progressClientVersion, upload.progressServerVersion, upload.lockedServerVersion),
                "changesets": changesets.map {
                    "\($0.clientVersion) \($0.serverVersion) \($0.originTimestamp) \($0.originFileIdent) \(hexText($0.bytes))"
                },
            ]
        case .mark(let session, let request): return ["": head("mark", session, request)]
        case .unbind(let session): return ["": head("unbind", session)]
        case .ping(let timestamp, let roundTrip): return ["": head("ping", timestamp, roundTrip)]
        case .error(let session, let code, let json):
            return ["": head("json_error", code, UInt64(json.count), session)]
        }
    }

    private static func refusal(_ text: String, _ limits: FrameLimits = FrameLimits()) -> RealmErrorCode? {
        do throws(FrameError) {
            _ = try ClientFrame(Array(text.utf8), limits: limits)
            return nil
        } catch {
            return (0...text.utf8.count).contains(error.offset) ? error.code : nil
        }
    }

    @Test(arguments: [
        ("", RealmErrorCode.badSyntax), ("bind", .badSyntax), ("hello 1\n", .unknownMessage),
        ("query 1 1 2\n{}", .unknownMessage), ("mark 1\n", .badSyntax), ("mark 1 2", .badSyntax),
        ("mark  1 2\n", .badSyntax), ("mark 1 2 \n", .badSyntax), ("mark +1 2\n", .badSyntax),
        ("mark -1 2\n", .badSyntax), ("mark 1 2\n3", .badSyntax), ("mark 1 2x\n", .badSyntax),
        ("mark 0 2\n", .badSessionIdent), ("unbind 0\n", .badSessionIdent),
        ("mark 9223372036854775808 2\n", .badSyntax), ("mark 99999999999999999999999999999999999 2\n", .badSyntax),
        ("bind 1 9 0 2 0\n\"room=42\"", .badSyntax), ("bind 1 9 0 1 1\n\"room=42\"", .badSyntax),
        ("bind 1 10 0 1 0\n\"room=42\"", .badSyntax), ("bind 1 8 0 1 0\n\"room=42\"", .badSyntax),
        ("bind 1 65537 0 1 0\n", .badSyntax), ("upload 1 0 5 0 0 0 0\n1234", .badSyntax),
        ("upload 1 0 99999999 0 0 0 0\n", .otherError), ("json_error 1 9223372036854775807 1\n", .badSyntax),
    ])
    func `what isn't a message is refused with its number`(text: String, code: RealmErrorCode) {
        #expect(Self.refusal(text) == code)
    }

    @Test func `the largest numbers are read`() throws {
        let frame = try ClientFrame(Array("mark 9223372036854775807 9223372036854775807\n".utf8))
        #expect(frame == .mark(session: 9_223_372_036_854_775_807, request: 9_223_372_036_854_775_807))
    }

    @Test func `a message beyond the limit is refused`() {
        #expect(
            Self.refusal("mark 1 2\n" + String(repeating: "3", count: 200_000), FrameLimits(bytes: 8)) == .otherError)
        #expect(Self.refusal("upload 1 0 9 0 0 0 0\n123456789", FrameLimits(bytes: 8)) == .otherError)
        #expect(Self.refusal("bind 1 9 0 1 0\n\"room=42\"", FrameLimits(pathBytes: 8)) == .badSyntax)
        #expect(Self.refusal("bind 1 1 3 1 0\n0abc", FrameLimits(tokenBytes: 2)) == .badSyntax)
    }

    private static func upload(_ body: String, limits: FrameLimits = FrameLimits()) throws -> RealmErrorCode? {
        let message = Array("upload 1 0 \(body.utf8.count) 0 1 1 1\n\(body)".utf8)
        guard case .upload(let upload) = try ClientFrame(message) else { return nil }
        do throws(FrameError) {
            _ = try upload.changesets(limits: limits, inflate: ZlibStream.inflate)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `the changesets of an upload are bounded and whole`() throws {
        #expect(try Self.upload("1 1 1 0 3 abc2 1 1 0 0 ") == nil)
        #expect(try Self.upload("1 1 1 0 3 abc2 1 1 0 0 ", limits: FrameLimits(changesets: 1)) == .badChangesetHeader)
        #expect(try Self.upload("1 1 1 0 3 ab") == .badChangesetHeader)
        #expect(try Self.upload("1 1 1 0 30 ab") == .badChangesetSize)
        #expect(try Self.upload("1 1 1 0") == .badChangesetHeader)
        #expect(try Self.upload("x") == .badChangesetHeader)
    }

    @Test func `a compressed body has the size that the message says`() throws {
        let body = Array("1 1 1 0 3 abc".utf8), compressed = try #require(ZlibStream.deflate(body))
        func count(size: Int) throws -> Int {
            let head = Array("upload 1 1 \(size) \(compressed.count) 1 1 1\n".utf8)
            guard case .upload(let upload) = try ClientFrame(head + compressed) else { return 0 }
            return try upload.changesets(inflate: ZlibStream.inflate).count
        }
        #expect(try count(size: body.count) == 1)
        for size in [0, body.count - 1, body.count + 1] {
            let error = #expect(throws: FrameError.self) { try count(size: size) }
            #expect(error?.code == .badDecompression)
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `mutations of messages end in a message or an error`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for vector in try Self.vectors("c>s") {
            let message = try Self.message(vector, flagAt: 2)
            for _ in 0..<20 {
                var bytes = message
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    // Mostly in the head.
                    let place = Int.random(in: 0...min(bytes.count, 60), using: &generator)
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                    case 1: if place < bytes.count { bytes.remove(at: place) }
                    case 2: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
                    default: bytes.removeLast(bytes.count - place)
                    }
                }
                do throws(FrameError) {
                    guard case .upload(let upload) = try ClientFrame(bytes) else { continue }
                    _ = try upload.changesets(inflate: ZlibStream.inflate)
                } catch {
                    #expect((0...max(bytes.count, 1 << 20)).contains(error.offset))
                }
            }
        }
    }
}

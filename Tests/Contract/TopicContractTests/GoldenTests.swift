import DocumentModel
import EventTopics
import Foundation
import Testing

@Suite struct GoldenTests {
    /// The golden files beside this one. `PARTITA_UPDATE_GOLDEN=1` writes them again: a changed byte is a changed contract.
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    @Test(arguments: Samples.all.map(\.name)) func `a message has the bytes of its golden file`(name: String) throws {
        let sample = try #require(Samples.all.first { $0.name == name })
        let file = Self.folder.appending(path: "\(name).txt")
        let actual = Self.text(sample.encoded)
        if ProcessInfo.processInfo.environment["PARTITA_UPDATE_GOLDEN"] != nil {
            try actual.write(to: file, atomically: true, encoding: .utf8)
        }
        let golden = try String(contentsOf: file, encoding: .utf8)
        #expect(actual == golden)
    }

    @Test(arguments: Samples.all.map(\.name)) func `a golden message is read and written again unchanged`(name: String)
        throws
    {
        let sample = try #require(Samples.all.first { $0.name == name })
        let golden = try String(contentsOf: Self.folder.appending(path: "\(name).txt"), encoding: .utf8)
        let parts = golden.components(separatedBy: "\n\n")
        var headers: [String: String] = [:]
        for line in parts[0].split(separator: "\n") {
            let pair = line.components(separatedBy: ": ")
            headers[pair[0]] = pair.dropFirst().joined(separator: ": ")
        }
        let attributes = try EventEnvelope.attributes { headers[$0] }
        let value = Array(parts[1].dropLast().utf8)
        #expect(Self.text(try sample.rewrite(value, attributes)) == golden)
        // Fields that a newer writer adds are ignored.
        let extended = Array("{\"addedLater\":1,".utf8) + value.dropFirst()
        #expect(Self.text(try sample.rewrite(extended, attributes)) == golden)
    }

    @Test func `there is a golden file for every event type, and no other`() throws {
        let types = Set(
            Samples.all.compactMap { sample in sample.encoded.headers.first { $0.name == "ce_type" }?.value })
        #expect(types == Set(Topics.all.flatMap(\.types)))
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(files) == Set(Samples.all.map { "\($0.name).txt" }))
    }

    @Test(arguments: Samples.all.map(\.name)) func `a missing or mistyped field is named`(name: String) throws {
        let sample = try #require(Samples.all.first { $0.name == name })
        var headers: [String: String] = [:]
        for header in sample.encoded.headers { headers[header.name] = header.value }
        let attributes = try EventEnvelope.attributes { headers[$0] }
        let document = try ExtendedJSON.parseDocument(sample.encoded.value)
        for field in document.fields {
            var without = document
            without[field.key] = nil
            var bytes: [UInt8] = []
            ExtendedJSON.append(without, to: &bytes)
            do { _ = try sample.rewrite(bytes, attributes) } catch let error as EventTopicsError {
                #expect(error.code == .missingField && error.message.contains(field.key))
            }
            without[field.key] = .regex(RegularExpression("x"))
            bytes = []
            ExtendedJSON.append(without, to: &bytes)
            do { _ = try sample.rewrite(bytes, attributes) } catch let error as EventTopicsError {
                #expect(error.code == .wrongType && error.message.contains(field.key))
            }
        }
    }

    @Test func `a malformed envelope is refused`() throws {
        var headers: [String: String] = [:]
        for header in Samples.all[0].encoded.headers { headers[header.name] = header.value }
        func code(_ change: (inout [String: String]) -> Void) -> EventTopicsError.Code? {
            var changed = headers
            change(&changed)
            do throws(EventTopicsError) {
                let attributes = try EventEnvelope.attributes { changed[$0] }
                _ = try EventEnvelope.decode(
                    DocumentChangesEvent.self, value: Samples.all[0].encoded.value, attributes: attributes)
                return nil
            } catch { return error.code }
        }
        #expect(code { _ in } == nil)
        #expect(code { $0["ce_id"] = nil } == .missingHeader)
        #expect(code { $0["ce_specversion"] = "2.0" } == .unsupportedVersion)
        #expect(code { $0["ce_time"] = "yesterday" } == .wrongType)
        #expect(code { $0["ce_type"] = "partita.document.eaten.v1" } == .unknownType)
        let attributes = try EventEnvelope.attributes { headers[$0] }
        let error = #expect(throws: EventTopicsError.self) {
            try EventEnvelope.decode(GrantsEvent.self, value: Array("[1".utf8), attributes: attributes)
        }
        #expect(error?.code == .notADocument)
    }

    private static func text(_ event: EncodedEvent) -> String {
        let lines = ["key: \(event.key)"] + event.headers.map { "\($0.name): \($0.value)" }
        return lines.joined(separator: "\n") + "\n\n" + String(decoding: event.value, as: UTF8.self) + "\n"
    }
}

@Suite struct KeyTests {
    @Test func `keys begin with the app and can be split again`() throws {
        for sample in Samples.all {
            let app = try #require(sample.encoded.key.split(separator: "/").first)
            #expect(app == "rchat" || app == "*", "\(sample.name)")
        }
        let parsed = try #require(DocumentChangesEvent.parse(key: "rchat/s:a/b/c"))
        #expect(parsed.app == "rchat" && parsed.partition.text == "s:a/b/c")
        #expect(DocumentChangesEvent.parse(key: "rchat") == nil)
        #expect(EventKey.parts("a/u/s:x/y", count: 3) == ["a", "u", "s:x/y"])
    }

    @Test(
        arguments: [
            // From Apache Kafka's own tests of Utils.murmur2.
            ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
        ] as [(String, Int32)])
    func `the hash of a key is Kafka's murmur2`(key: String, hash: Int32) {
        #expect(EventKey.partition(of: key.utf8, count: 1000) == Int32(UInt32(bitPattern: hash) & 0x7fff_ffff) % 1000)
    }
}

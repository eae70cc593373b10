import DocumentModel
import SyncEngine
import SyncProtocol
import Testing

struct WireContractTests {
    @Test(arguments: FrameSamples.device.indices)
    func `a device's frame has the bytes of its golden file, both ways`(index: Int) throws {
        let sample = FrameSamples.device[index]
        let golden = try GoldenFiles.bytes(sample.name)
        #expect(text(sample.frame.encoded()) == text(golden))
        let decoded = try DeviceFrame(golden)
        #expect(text(decoded.encoded()) == text(golden))
        #expect(decoded.type == sample.frame.type)
    }

    @Test(arguments: FrameSamples.gateway.indices)
    func `a gateway's frame has the bytes of its golden file, both ways`(index: Int) throws {
        let sample = FrameSamples.gateway[index]
        let golden = try GoldenFiles.bytes(sample.name)
        #expect(text(sample.frame.encoded()) == text(golden))
        let decoded = try GatewayFrame(golden)
        #expect(text(decoded.encoded()) == text(golden))
        #expect(decoded.type == sample.frame.type)
    }

    @Test(arguments: FrameSamples.compact.indices)
    func `a compact download has the bytes of its golden file, and says what the whole one says`(index: Int) throws {
        let sample = FrameSamples.compact[index]
        let golden = try GoldenFiles.bytes(sample.name)
        #expect(text(sample.frame.encoded(isCompact: true)) == text(golden))
        let decoded = try GatewayFrame(golden)
        #expect(text(decoded.encoded()) == text(sample.frame.encoded()))
        #expect(text(decoded.encoded(isCompact: true)) == text(golden))
        #expect(golden.count < sample.frame.encoded().count * 8 / 10)
    }

    // `_id`, and whether a compact download says it beside the document.
    @Test(arguments: [
        (#""a""#, false), (#"{"$oid":"64f000000000000000000001"}"#, false), (#"{"$numberLong":"8"}"#, false),
        (#"{"$numberInt":"8"}"#, true), (#"{"$numberDouble":"8.0"}"#, true), (#"{"$numberDouble":"8.5"}"#, false),
        (#"{"$numberDecimal":"8.50"}"#, true), (#"{"$symbol":"a"}"#, true), (#"{"a":{"$numberInt":"8"}}"#, true),
    ])
    func `a compact download says an _id that its document has in another form`(id: String, isSaid: Bool) throws {
        let value = try ExtendedJSON.parse(id), revision = Revision(epoch: 1, number: 2)
        let key = try #require(value.idText.flatMap { Value(idText: $0) })
        func frame(_ document: Document) -> String {
            let change = DocumentChange(
                collection: "c", id: key, revision: revision, incarnation: revision, document: document)
            let download = Download(from: Revision(epoch: 1, number: 1), to: revision, changes: [change])
            return text(GatewayFrame.download(partition: Partition(text: "s:a"), download).encoded(isCompact: true))
        }
        let said = #""_id":\#(ExtendedJSON.print(key, mode: .exact)),"revision""#
        #expect(frame(["_id": value, "n": 1]).contains(said) == isSaid)
        #expect(frame(["_id": value]).contains(said) == isSaid)
        #expect(frame(["n": 1, "_id": value]).contains(said))
    }

    @Test func `the first change of a frame says its collection, and one without a document what it is`() throws {
        let beginning = #"{"type":"download","partition":"s:a","from":"1.1","changes":["#, end = #"],"to":"1.2"}"#
        func decode(_ change: String) throws(SyncProtocolError) -> GatewayFrame {
            try GatewayFrame(Array((beginning + change + end).utf8))
        }
        _ = try decode(#"{"collection":"c","revision":"1.2","document":{"_id":1}}"#)
        for change in [
            #"{"revision":"1.2","document":{"_id":1}}"#, #"{"collection":"c","revision":"1.2","_id":1}"#,
            #"{"collection":"c","revision":"1.2","document":{}}"#,
            #"{"op":"delete","collection":"c","revision":"1.2"}"#,
        ] {
            #expect(throws: SyncProtocolError.self, "\(change)") { try decode(change) }
        }
    }

    @Test func `every type has a golden file, and every golden file a frame`() throws {
        let names =
            FrameSamples.device.map(\.name) + FrameSamples.gateway.map(\.name) + FrameSamples.compact.map(\.name)
        #expect(try GoldenFiles.names() == Set(names))
        #expect(Set(FrameSamples.device.map(\.frame.type)) == Set(DeviceFrame.types))
        #expect(Set(FrameSamples.gateway.map(\.frame.type)) == Set(GatewayFrame.types))
    }

    @Test func `every type, field and error code is in the specification`() throws {
        let specification = try GoldenFiles.specification()
        var words = Set(SyncErrorCode.all.map(\.rawValue))
        for name in try GoldenFiles.names() {
            guard case .document(let frame) = try ExtendedJSON.parse(try GoldenFiles.bytes(name)) else { continue }
            if let type = frame["type"]?.stringValue { words.insert(type) }
            collectFields(of: frame, into: &words)
        }
        for word in words.sorted() {
            #expect(specification.contains(try Regex("[`{ ,]\(word)[`} ,]")), "\(word) is not in the specification")
        }
    }

    @Test func `the codes of rejections are codes of the wire`() {
        let codes: [OperationRejection.Code] = [
            .notPermitted, .schemaViolation, .badUpdate, .badId, .unknownCollection, .wrongPartition, .documentTooLarge,
            .outcomeUnknown,
        ]
        for code in codes { #expect(SyncErrorCode.all.contains { $0.rawValue == code.rawValue }) }
    }

    /// The names of a frame's own fields; documents, updates and data inside it have the app's.
    private func collectFields(of document: Document, into words: inout Set<String>) {
        let ofTheApp: Set<String> = ["document", "update", "data", "arrayFilters", "_id"]
        for field in document.fields {
            words.insert(field.key)
            if ofTheApp.contains(field.key) { continue }
            if case .document(let nested) = field.value { collectFields(of: nested, into: &words) }
            for element in field.value.arrayValue ?? [] {
                if case .document(let nested) = element { collectFields(of: nested, into: &words) }
            }
        }
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

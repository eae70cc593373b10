import DocumentModel
import SyncEngine
import SyncProtocol
import Testing

struct BadFrameTests {
    @Test(arguments: [
        ("", "badFrame"), ("[]", "badFrame"), ("{", "badFrame"), ("{}", "badFrame"), ("\u{FEFF}{}", "badFrame"),
        (#"{"partition":"s:a","type":"unsubscribe"}"#, "badFrame"), (#"{"type":7}"#, "badFrame"),
        (#"{"type":"subscribe","partition":"s:a","partition":"s:b","checkpoint":"0.0"}"#, "badFrame"),
        (#"{"type":"welcome"}"#, "badFrame"), (#"{"type":"subscribe","partition":"s:a"}"#, "badFrame"),
        (#"{"type":"subscribe","partition":"s:a","checkpoint":"1"}"#, "badFrame"),
        (#"{"type":"subscribe","partition":"s:a","checkpoint":"1.-2"}"#, "badFrame"),
        (#"{"type":"subscribe","partition":"s:a","checkpoint":"+1.1"}"#, "badFrame"),
        (#"{"type":"subscribe","partition":"s:a","checkpoint":"1.01"}"#, "badFrame"),
        (#"{"type":"subscribe","partition":"s:a","checkpoint":"1.1","resume":7}"#, "badFrame"),
        (#"{"type":"unsubscribe","partition":"x:a"}"#, "unknownPartition"),
        (#"{"type":"unsubscribe","partition":"i:db.c:3"}"#, "unknownPartition"),
        (#"{"type":"unsubscribe","partition":"n:null"}"#, "unknownPartition"),
        (#"{"type":"hello","protocol":"partita.sync.v9","device":"d","token":"t"}"#, "unsupportedProtocol"),
        (#"{"type":"hello","protocol":"partita.sync.v1","device":"","token":"t"}"#, "badFrame"),
        (#"{"type":"upload","partition":"s:a","sentAt":1,"changesets":[{}]}"#, "badFrame"),
        (#"{"type":"upload","partition":"s:a","sentAt":1,"changesets":[1]}"#, "badFrame"),
        (
            #"{"type":"upload","partition":"s:a","sentAt":1,"changesets":[{"version":1,"clock":"1.0","operations":[]}]}"#,
            "badFrame"
        ),
        (
            #"{"type":"upload","partition":"s:a","sentAt":1,"changesets":[{"version":1,"clock":"1.70000","operations":[{"op":"delete","collection":"c","_id":1}]}]}"#,
            "badFrame"
        ),
    ])
    func `a bad frame has a stable code`(text: String, code: String) {
        let error = #expect(throws: SyncProtocolError.self) { try DeviceFrame(Array(text.utf8)) }
        #expect(error?.code.rawValue == code)
    }

    @Test func `an error names the byte`() {
        let error = #expect(throws: SyncProtocolError.self) { try DeviceFrame(Array(#"{"type":"ping",}"#.utf8)) }
        #expect(error?.offset == 15)
    }

    @Test func `a frame beyond the limit is refused before it is read`() {
        let frame = Array(#"{"type":"ping","padding":"\#(String(repeating: "x", count: 1000))"}"#.utf8)
        let error = #expect(throws: SyncProtocolError.self) { try DeviceFrame(frame, limit: 1000) }
        #expect(error?.code == .frameTooLarge)
    }

    @Test func `the presence that a user reports is bounded`() {
        let data = #"{"note":"\#(String(repeating: "x", count: 4096))"}"#
        let error = #expect(throws: SyncProtocolError.self) {
            try DeviceFrame(Array(#"{"type":"presence","state":"away","data":\#(data)}"#.utf8))
        }
        #expect(error?.code == .badFrame)
    }

    @Test(arguments: ["", String(repeating: "x", count: 257)])
    func `a user to watch has a name`(_ name: String) throws {
        func frame(_ name: String) -> [UInt8] {
            Array(#"{"type":"presence","state":"on","watch":["u","\#(name)"]}"#.utf8)
        }
        let error = #expect(throws: SyncProtocolError.self) { try DeviceFrame(frame(name)) }
        #expect(error?.code == .badFrame)
        _ = try DeviceFrame(frame(String(repeating: "x", count: 256)))
    }

    @Test func `versions in an upload must increase`() {
        let delete = #"[{"op":"delete","collection":"c","_id":1}]"#
        let changeset = #"{"version":4,"clock":"1.0","operations":\#(delete)}"#
        let frame = #"{"type":"upload","partition":"s:a","sentAt":1,"changesets":[\#(changeset),\#(changeset)]}"#
        #expect(throws: SyncProtocolError.self) { try DeviceFrame(Array(frame.utf8)) }
    }

    @Test func `unknown fields are ignored`() throws {
        let frame = try DeviceFrame(Array(#"{"type":"ping","later":{"a":[1]}}"#.utf8))
        #expect(frame.type == "ping")
    }

    @Test func `no mutation of a frame crashes the decoder`() throws {
        var generator = SeededGenerator(seed: 1)
        for name in try GoldenFiles.names().sorted() {
            let golden = try GoldenFiles.bytes(name)
            for length in golden.indices { decode(Array(golden[..<length])) }
            for _ in 0..<200 {
                var bytes = golden
                for _ in 0...Int.random(in: 0...3, using: &generator) {
                    let place = Int.random(in: bytes.indices, using: &generator)
                    bytes[place] = UInt8.random(in: 0...255, using: &generator)
                }
                decode(bytes)
            }
        }
    }

    @Test func `stored text is inserted unchanged`() throws {
        let body = #"{ "_id" : "a",  "odd":{"$numberDouble":"-0.0"} }"#
        var encoder = DownloadEncoder(partition: Partition(text: "s:p"), from: Revision(epoch: 1, number: 1))
        encoder.append(
            collection: "c", idText: "s:a", revision: Revision(epoch: 1, number: 2),
            incarnation: Revision(epoch: 1, number: 2), body: Array(body.utf8))
        let frame = encoder.finish(to: Revision(epoch: 1, number: 2))
        #expect(String(decoding: frame, as: UTF8.self).contains(body))
        guard case .download(_, let download) = try GatewayFrame(frame) else { return #expect(Bool(false)) }
        #expect(download.changes.first?.document?["odd"]?.doubleValue?.sign == .minus)
    }

    private func decode(_ bytes: [UInt8]) {
        // It doesn't matter whether it decodes; the test is that it returns.
        _ = try? DeviceFrame(bytes)
        _ = try? GatewayFrame(bytes)
    }

    @Test func `only an upload may be large, and its values are limited`() throws {
        let filling = String(repeating: "x", count: FrameLimits.controlBytes)
        let upload =
            #"{"type":"upload","partition":"s:a","sentAt":1,"changesets":[{"version":1,"clock":"1.0","operations":"#
        func insert(_ text: String) -> [UInt8] {
            Array((upload + #"[{"op":"insert","collection":"c","_id":1,"document":{"_id":1,"x":\#(text)}}]}]}"#).utf8)
        }
        guard case .upload = try DeviceFrame(insert("\"\(filling)\"")) else { throw NotAnUpload() }
        guard case .upload = try DeviceFrame(insert("[" + String(repeating: "0,", count: 900_000) + "0]")) else {
            throw NotAnUpload()
        }
        for (frame, code) in [
            (#"{"type":"ping","x":"\#(filling)"}"#, .frameTooLarge),
            (#" { "type" : "presence","state":"\#(filling)"}"#, .frameTooLarge),
            (#"{"type":"uploads","x":"\#(filling)"}"#, .frameTooLarge),
            (#"{"x":"\#(filling)","type":"upload"}"#, .frameTooLarge),
            (
                String(decoding: insert("[" + String(repeating: "0,", count: 1_000_000) + "0]"), as: UTF8.self),
                .badFrame
            ),
        ] as [(String, SyncErrorCode)] {
            let error = #expect(throws: SyncProtocolError.self) { try DeviceFrame(Array(frame.utf8)) }
            #expect(error?.code == code, "\(frame.prefix(40)): \(String(describing: error))")
        }
    }

    private struct NotAnUpload: Error {}
}

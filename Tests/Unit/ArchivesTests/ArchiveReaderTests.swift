import Archives
import Foundation
import Testing

struct ArchiveReaderTests {
    private static let limits = ArchiveReader.Limits(
        entries: 10, fileBytes: 1000, totalBytes: 2000, unpackedBytes: 100_000)

    /// `app/a.json`, `app/b.txt` and `app/é.json`, made with Python's `zipfile`.
    private static let zip = """
        UEsDBBQAAAAIAAAAIVCXjqH7CgAAAAgAAAAKAAAAYXBwL2EuanNvbqtWSlSyUjCsBQBQSwMEFAAAAAgAAAAhUB8oqmcEAAAAAgAAAAkAAABhcHAvYi50eHTL\
        ywcAUEsDBBQAAAgIAAAAIVANvtUaAwAAAAEAAAALAAAAYXBwL8OpLmpzb24zAgBQSwECFAMUAAAACAAAACFQl46h+woAAAAIAAAACgAAAAAAAAAAAAAAgAEA\
        AAAAYXBwL2EuanNvblBLAQIUAxQAAAAIAAAAIVAfKKpnBAAAAAIAAAAJAAAAAAAAAAAAAACAATIAAABhcHAvYi50eHRQSwECFAMUAAAICAAAACFQDb7VGgMA\
        AAABAAAACwAAAAAAAAAAAAAAgAFdAAAAYXBwL8OpLmpzb25QSwUGAAAAAAMAAwCoAAAAiQAAAAAA
        """
    /// `app/a.json`, `app/b.txt` and a link `app/link.json` to `/etc/passwd`, made with Python's `tarfile` and `gzip`.
    private static let tar = """
        H4sIAAAAAAACA+3WSwrCMBCA4TlK6QHaJIQWvM34WPggLSaiIN7d0JUExFXrov+3mWE2Wf0QHcdWm1McgszGZJ3308zKaYz92Kd737leKiMLuMWk1/ykrNOz\
        1npT2ZdglTT3v23SI8kf+zeu7N/39L+IMNDA2vu/HMN5zi/A7/6L3TrvrFSuPaRdO2qM9z39AwAAAAAAAAAAAADw3RtTBafdACgAAA==
        """
    /// 300,000 zeros and `a.json`, as `tar`.
    private static let bomb = """
        H4sIAAAAAAACA+3TMQrCMAAF0BylJ5BUYnOeuogOCm0KHt9YRNS9Hep7yw9/+ZCQ4/m0K/cSlhSrLqU5q69sq5ze3avP+0MKTQwrmMbSD3UyAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        W9fvLuPtuuxGrLqU5qx+s2o/zs8+x5RDE9e4gGks/VAn//T9W18AAAAAAAA25wH3YvJLALAEAA==
        """

    private static func bytes(_ text: String) throws -> [UInt8] { [UInt8](try #require(Data(base64Encoded: text))) }

    @Test func `the wanted files of a zip archive are read`() throws {
        let files = try ArchiveReader(limits: Self.limits).files(of: Self.bytes(Self.zip)) {
            $0.hasSuffix(".json")
        }
        #expect(files.map(\.path) == ["app/a.json", "app/é.json"])
        #expect(files.map { String(decoding: $0.bytes, as: UTF8.self) } == [#"{"a": 1}"#, "2"])
    }

    @Test func `a name that isn't UTF-8 is reported, or refused`() throws {
        // A header of ustar (POSIX.1-2017, pax): name, mode, owner and group, size, time, sum, type.
        func entry(_ name: [UInt8]) -> [UInt8] {
            var header = [UInt8](repeating: 0, count: 512)
            func put(_ bytes: some Sequence<UInt8>, at start: Int) {
                for (place, byte) in bytes.enumerated() { header[start + place] = byte }
            }
            put(name, at: 0)
            put("0000644\u{0}0000000\u{0}0000000\u{0}00000000001\u{0}00000000000\u{0}        0".utf8, at: 100)
            put("ustar\u{0}00".utf8, at: 257)
            let sum = header.reduce(0) { $0 + Int($1) }
            let digits = String(sum, radix: 8)
            put((String(repeating: "0", count: 6 - digits.count) + digits + "\u{0} ").utf8, at: 148)
            return header + [49] + [UInt8](repeating: 0, count: 511)
        }
        let odd = Array("caf".utf8) + [0xE9] + Array(".js".utf8)
        let bytes =
            entry(Array("a.js".utf8)) + entry(odd) + entry(Array("b.js".utf8)) + [UInt8](repeating: 0, count: 1024)
        let reader = ArchiveReader(limits: Self.limits)
        let contents = try reader.contents(of: bytes) { $0.hasSuffix(".js") }
        #expect(contents.files.map(\.path) == ["a.js", "b.js"])
        #expect(contents.malformed.map(\.shown) == ["caf\\xE9.js"])
        #expect(contents.malformed.map(\.repaired) == ["caf\u{FFFD}.js"])
        let error = #expect(throws: ArchiveError.self) { _ = try reader.files(of: bytes) { $0.hasSuffix(".js") } }
        #expect(error?.message.contains("caf\\xE9.js") == true)
        #expect(try reader.files(of: bytes) { $0.hasPrefix("a") }.map(\.path) == ["a.js"])
    }

    @Test func `an archive is read from its file, too`() throws {
        let path = NSTemporaryDirectory() + UUID().uuidString
        try Data(Self.bytes(Self.zip)).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }  // the file of this test alone
        let reader = ArchiveReader(limits: Self.limits)
        #expect(try reader.files(at: path) { $0.hasSuffix("a.json") }.map(\.path) == ["app/a.json"])
        let error = #expect(throws: ArchiveError.self) { _ = try reader.files(at: "/nowhere.zip") { _ in true } }
        #expect(error?.code == .unreadable)
    }

    @Test func `links in a compressed tar archive aren't followed`() throws {
        let files = try ArchiveReader(limits: Self.limits).files(of: Self.bytes(Self.tar)) {
            $0.hasSuffix(".json")
        }
        #expect(files.map(\.path) == ["app/a.json"])
    }

    @Test func `each limit is kept, also by what isn't wanted`() throws {
        func code(_ text: String, _ change: (inout ArchiveReader.Limits) -> Void) throws -> ArchiveError.Code? {
            var limits = Self.limits
            change(&limits)
            let bytes = try Self.bytes(text)
            return #expect(throws: ArchiveError.self) {
                _ = try ArchiveReader(limits: limits).files(of: bytes) { $0.hasSuffix(".json") }
            }?.code
        }
        #expect(try code(Self.zip) { $0.entries = 2 } == .tooLarge)
        #expect(try code(Self.zip) { $0.fileBytes = 7 } == .tooLarge)
        #expect(try code(Self.zip) { $0.totalBytes = 8 } == .tooLarge)
        #expect(try code(Self.bomb) { $0.unpackedBytes = 200_000 } == .tooLarge)
        let files = try ArchiveReader(
            limits: .init(entries: 2, fileBytes: 1, totalBytes: 1, unpackedBytes: 300_001)
        ).files(of: Self.bytes(Self.bomb)) { $0.hasSuffix(".json") }
        #expect(files.map(\.path) == ["a.json"])
    }

    @Test(arguments: ArchiveWriter.Format.allCases)
    func `files that are too large count as unpacked`(_ format: ArchiveWriter.Format) throws {
        let archive = try ArchiveWriter(format).archive(
            (0..<3).map { ("\($0).json", [UInt8](repeating: 48, count: 1001)) })
        func contents(_ unpackedBytes: Int) throws -> ArchiveReader.Contents {
            var limits = Self.limits
            limits.unpackedBytes = unpackedBytes
            return try ArchiveReader(limits: limits).contents(of: archive) { _ in true }
        }
        #expect(try contents(4000).large.count == 3)
        let error = #expect(throws: ArchiveError.self) { _ = try contents(2500) }
        #expect(error?.code == .tooLarge && error?.message.contains("2500") == true)
    }

    @Test func `a tar archive that was cut between two entries is refused`() throws {
        // Two files by hand: a header, one block of contents, and the two blocks of zeros at the end.
        func entry(_ name: String) -> [UInt8] {
            var header = [UInt8](repeating: 0, count: 512)
            func put(_ text: String, at place: Int) {
                header.replaceSubrange(place..<place + text.utf8.count, with: text.utf8)
            }
            put(name, at: 0)
            put("0000644", at: 100)
            put("00000000002", at: 124)
            put("        ", at: 148)
            put("0", at: 156)
            put("ustar\u{0}00", at: 257)
            let sum = String(header.reduce(0) { $0 + Int($1) }, radix: 8)
            put(String(repeating: "0", count: 6 - sum.count) + sum + "\u{0} ", at: 148)
            return header + Array("{}".utf8) + [UInt8](repeating: 0, count: 510)
        }
        let whole = entry("a.json") + entry("b.json") + [UInt8](repeating: 0, count: 1024)
        let reader = ArchiveReader(limits: Self.limits)
        #expect(try reader.files(of: whole) { _ in true }.map(\.path) == ["a.json", "b.json"])
        for count in [1024, 2048, 2560] {
            let error = #expect(throws: ArchiveError.self) {
                _ = try reader.files(of: Array(whole.prefix(count))) { _ in true }
            }
            #expect(error?.code == .unreadable, "\(count) bytes")
        }
    }

    @Test func `bytes that are no archive, or a part of one, are refused`() throws {
        let reader = ArchiveReader(limits: Self.limits)
        for bytes in [Array("{}".utf8), Array(try Self.bytes(Self.tar).prefix(60))] {
            let error = #expect(throws: ArchiveError.self) { _ = try reader.files(of: bytes) { _ in true } }
            #expect(error?.code == .unreadable)
        }
    }
}

import Archives
import Foundation
import Testing

struct ArchiveWriterTests {
    private static let files: [(path: String, bytes: [UInt8])] = [
        ("a.json", Array("{}".utf8)), ("b/ü.bin", [0, 255, 26]),
        ("b/" + String(repeating: "long/", count: 60) + "c", []),
        ("large", [UInt8](repeating: 7, count: 300_000)),
    ]
    private static let reader = ArchiveReader(
        limits: .init(entries: 10, fileBytes: 1 << 20, totalBytes: 1 << 20, unpackedBytes: 1 << 22))

    @Test(arguments: ArchiveWriter.Format.allCases)
    func `an archive has the files that were written`(_ format: ArchiveWriter.Format) throws {
        let archive = try ArchiveWriter(format).archive(Self.files, time: 1_700_000_000)
        let read = try Self.reader.files(of: archive) { _ in true }
        #expect(read.map(\.path) == Self.files.map(\.path))
        #expect(read.map(\.bytes) == Self.files.map(\.bytes))
        #expect(try ArchiveWriter(format).archive(Self.files, time: 1_700_000_000) == archive)
        #expect(try ArchiveWriter(format).archive([], time: 0).count < 20_000)
    }

    @Test func `a file's name says the format, in small or capital letters`() {
        #expect(ArchiveWriter.Format(ofFileNamed: "a/b.ZIP") == .zip)
        #expect(ArchiveWriter.Format(ofFileNamed: "b.Tar.GZ") == .tarGzip)
        #expect(ArchiveWriter.Format(ofFileNamed: "b.tar.bz2") == nil)
    }

    @Test(arguments: [ArchiveWriter.Format.tar, .tarGzip])
    func `names of a tar archive are bytes`(_ format: ArchiveWriter.Format) throws {
        let long = String(repeating: "long/", count: 60)
        let names = ["caf\u{E9}", "cafe\u{301}", long + "caf\u{E9}", long + "cafe\u{301}"]
        let archive = try ArchiveWriter(format).archive(names.map { ($0, Array($0.utf8)) })
        let read = try Self.reader.files(of: archive) { _ in true }
        #expect(read.map { Array($0.path.utf8) } == names.map { Array($0.utf8) })
        #expect(read.map(\.bytes) == names.map { Array($0.utf8) })
    }

    @Test(arguments: [1, 21, 60, 300])
    func `a zip archive without its end is refused`(_ missing: Int) throws {
        let archive = try ArchiveWriter(.zip).archive(Self.files)
        let error = #expect(throws: ArchiveError.self) {
            _ = try Self.reader.files(of: Array(archive.dropLast(missing))) { _ in true }
        }
        #expect(error?.code == .unreadable)
    }

    @Test func `links are listed with their targets`() throws {
        let path = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("1".utf8).write(to: URL(fileURLWithPath: path + "/a"))
        try FileManager.default.createSymbolicLink(atPath: path + "/s", withDestinationPath: "a")
        try FileManager.default.linkItem(atPath: path + "/a", toPath: path + "/z")
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/bin/tar")
        tar.arguments = ["-cf", path + ".tar", "-C", path, "a", "s", "z"]
        try tar.run()
        tar.waitUntilExit()
        defer { try? FileManager.default.removeItem(atPath: path + ".tar") }
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + ".tar")))
        let contents = try Self.reader.contents(of: bytes) { _ in true }
        #expect(contents.files.map(\.path) == ["a"])
        #expect(contents.links.map { "\($0.path) \($0.target)" } == ["s a", "z a"])
        // One may stand for a folder with what is wanted.
        let folders = try Self.reader.contents(of: bytes) { $0.hasPrefix("s/") }
        #expect(folders.links.map(\.path) == ["s"])
    }
}

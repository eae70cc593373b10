import Archives
import Foundation
import Testing

struct ArchiveTests {
    /// `node_modules` with `a/index.js`, `a/package.json` and `a/README.md`, made by Python's `zipfile`.
    private static let zip = """
        UEsDBBQAAAAIAFsaeV3eEdt6FAAAABIAAAAXAAAAbm9kZV9tb2R1bGVzL2EvaW5kZXguanPLzU8pzUnVS60oyC8qKVawVTAEAFBLAwQUAAAACABb\
        GnldQ7+mowQAAAACAAAAGwAAAG5vZGVfbW9kdWxlcy9hL3BhY2thZ2UuanNvbquuBQBQSwMEFAAAAAgAWxp5XR8oqmcEAAAAAgAAABgAAABub2Rl\
        X21vZHVsZXMvYS9SRUFETUUubWTLywcAUEsBAhQDFAAAAAgAWxp5Xd4R23oUAAAAEgAAABcAAAAAAAAAAAAAAKSBAAAAAG5vZGVfbW9kdWxlcy9h\
        L2luZGV4LmpzUEsBAhQDFAAAAAgAWxp5XUO/pqMEAAAAAgAAABsAAAAAAAAAAAAAAKSBSQAAAG5vZGVfbW9kdWxlcy9hL3BhY2thZ2UuanNvblBL\
        AQIUAxQAAAAIAFsaeV0fKKpnBAAAAAIAAAAYAAAAAAAAAAAAAACkgYYAAABub2RlX21vZHVsZXMvYS9SRUFETUUubWRQSwUGAAAAAAMAAwDUAAAA\
        wAAAAAAA
        """
    /// The same with a symbolic link, `a/link.js`, by `tarfile` with gzip.
    private static let tar = """
        H4sIAJ9TBmsC/+3YQWrCQACF4Vn3FDnBJJPMZHQhtFChm0LpBUowQ7GajCSRBkrv3oiFgkWLYAI2/7cxqOAivPfMyFCGt09Z++Cy3FWiF9HesdcoSpKf\
        6937KoqVEkErBrCtm6zqfl6MU2yDolkWbqbs1Bib2kTLyURNp+ZG4P8rfe5eCp9v164ORX/5t8Ycz393rUwSKW1Umtgu/3FsUxGYIfNfed+c+t5fn18p\
        Sf/T//Q//b/r/yzsLf9n9n93Qf/T//Q//Y8B+/95fnf/OJdFfun8p1qf6P/4oP8TmxoRREPmf6T9X3oyMGbsP/vP/rP/3/u/LHPXyrf64vk/uf/x4f5r\
        Zdj/QexvvXTtxldNHcwCRSbYf/af/Wf/R7j/62W5uvT8789/rT3j/Dft/i+IIA5dswg3WV2/573nn/Nf+p/+p//H3f+bbLHKXl03Ab4c7vnv1/mvtlbz\
        /DeEj08yAAAAAAAAAAAAAAAAAADAtfkCNEo58wBQAAA=
        """
    private static let limits = Archive.Limits(bytes: 1000, entries: 100)

    /// Reads an archive from a file of its own.
    private func read(
        _ text: String, limits: Archive.Limits = limits, where accepts: (String) -> Bool = { $0.hasSuffix(".js") }
    ) throws -> [String: String] {
        let path = NSTemporaryDirectory() + UUID().uuidString
        try Data(base64Encoded: text)?.write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try Archive.files(of: path, limits: limits, where: accepts)
        return Dictionary(uniqueKeysWithValues: files.map { ($0.path, String(decoding: $0.bytes, as: UTF8.self)) })
    }

    @Test(arguments: [zip, tar])
    func `the accepted files are read, and links are not`(_ archive: String) throws {
        #expect(try read(archive) == ["node_modules/a/index.js": "module.exports = 1"])
        #expect(
            try read(archive) { _ in true }.keys.sorted().map { $0.suffix(9) } == [
                "README.md", "/index.js", "kage.json",
            ])
    }

    @Test(arguments: [zip, tar])
    func `more bytes or entries than allowed are an error`(_ archive: String) {
        #expect(throws: ArchiveError.self) { try read(archive, limits: .init(bytes: 10, entries: 100)) }
        #expect(throws: ArchiveError.self) { try read(archive, limits: .init(bytes: 1000, entries: 1)) }
    }

    @Test func `a file that is no archive, a damaged one and none are errors with the path`() throws {
        for text in [Data("no archive".utf8).base64EncodedString(), String(Self.zip.prefix(120))] {
            #expect(throws: ArchiveError.self) { try read(text) }
        }
        let error = #expect(throws: ArchiveError.self) {
            try Archive.files(of: "/nowhere.zip", limits: Self.limits) { _ in true }
        }
        #expect(error?.description.hasPrefix("/nowhere.zip: ") == true)
    }
}

import AppDefinition
import AppDeployment
import Archives
import Foundation
import Testing

/// Archives whose paths lead elsewhere. No engine is needed.
struct ArchivePathTests {
    private static let root = (path: "realm_config.json", bytes: Array(#"{"app_id": "paths", "name": "paths"}"#.utf8))
    private static let odd = [
        "functions/../../../../root/.ssh/authorized_keys", "functions/node_modules/../../x", "/functions/a.js",
        "functions//a.js", "functions/./a.js", "hosting/files/../../../a.html", "elsewhere/../../a",
    ]

    @Test(arguments: odd, [ArchiveWriter.Format.zip, .tarGzip])
    func `an archive with a path that leads elsewhere is refused by its name`(
        _ path: String, _ format: ArchiveWriter.Format
    ) throws {
        let archive = try ArchiveWriter(format).archive([Self.root, (path, [1])])
        let error = #expect(throws: AppDefinitionError.self) {
            _ = try AppSource.files(of: archive, named: "the archive")
        }
        #expect(error?.problems.map(\.file) == [path])
        #expect(error?.problems.map(\.code) == [.fileUnreadable])
        let other = #expect(throws: DeploymentError.self) {
            _ = try AppSource.originals(ofArchive: archive, named: "the export")
        }
        #expect(other?.code == .sourceUnreadable && other?.message.contains(path) == true)
    }

    @Test func `an archive of tar's own paths is read`() throws {
        let archive = try ArchiveWriter(.tar).archive([
            ("./app/realm_config.json", Self.root.bytes), ("./app/functions/README.md", [1]),
        ])
        let files = try AppSource.files(of: archive, named: "the archive")
        #expect(files.original.map(\.path) == ["functions/README.md", "realm_config.json"])
    }

    @Test func `an export of all that an app can have is unpacked`() throws {
        // Texts, other files, and packages: each as many bytes as are allowed.
        let parts = [
            ("functions/a.js", AppFiles.totalLimit), ("hosting/files/a", AppFiles.otherTotalLimit),
            ("functions/node_modules/a/a.js", PackageCollector.totalLimit),
        ]
        let archive = try ArchiveWriter(.tarGzip).archive(
            parts.map { ($0.0, [UInt8](repeating: 32, count: $0.1)) })
        let files = try AppSource.originals(ofArchive: archive, named: "the export")
        #expect(files.map(\.bytes.count) == parts.map(\.1))
    }

    @Test(arguments: odd)
    func `an export with such a path writes nothing at all`(_ path: String) throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }  // the folder of this test alone
        let export = AppDeployments.Export(
            version: 1, deployedAt: 0, files: [Self.root, (path, [1])], choices: DeploymentChoices())
        for place in ["\(folder)/a/b", "\(folder)/a.tar"] {
            let error = #expect(throws: DeploymentError.self) { try AppDeployments.write(export, to: place) }
            #expect(error?.code == .pathAstray && error?.message.contains(path) == true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
}

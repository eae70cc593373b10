import Foundation
import Testing

/// The client must build where none of the Debian libraries are.
struct ImportTests {
    /// What Apple platforms have.
    private let system: Set<String> = ["Foundation", "Dispatch", "SQLite3", "Darwin", "Synchronization"]
    /// Imported only where `canImport` or `os(Linux)` says so.
    private let guarded: Set<String> = [
        "CSQLite", "Cpcre2", "EventLoop", "HTTPClient", "WebSocket", "Glibc", "FoundationNetworking",
    ]

    @Test func `the client and all that it depends on import nothing that Apple platforms lack`() throws {
        var checked: Set<String> = []
        var modules = ["PartitaClient"]
        while let module = modules.popLast() {
            guard checked.insert(module).inserted else { continue }
            for (file, imports) in try imports(of: module) {
                for imported in imports where !imported.isGuarded {
                    if system.contains(imported.name) { continue }
                    #expect(!guarded.contains(imported.name), "\(file) imports \(imported.name) on every platform")
                    if !guarded.contains(imported.name) { modules.append(imported.name) }
                }
            }
        }
        #expect(
            checked == [
                "PartitaClient", "DocumentModel", "DocumentSchema", "QueryLanguage", "RegularExpressions", "SQLite",
                "SyncEngine", "SyncProtocol", "Texts",
            ])
    }

    private struct Import {
        var name: String
        var isGuarded: Bool
    }

    private func imports(of module: String) throws -> [(file: String, imports: [Import])] {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let folder = root.appending(path: "Libraries/\(module)")
        let files = try #require(FileManager.default.enumerator(atPath: folder.path()))
        var result: [(file: String, imports: [Import])] = []
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            result.append(("\(module)/\(file)", imports(in: text)))
        }
        #expect(!result.isEmpty, "there is no module \(module)")
        return result
    }

    private func imports(in text: String) -> [Import] {
        var depth = 0
        var imports: [Import] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.contains("#if") { depth += 1 }
            if line.contains("#endif") { depth -= 1 }
            guard let place = words.firstIndex(of: "import"), place <= 2, place + 1 < words.count,
                words[..<place].allSatisfy({
                    ["private", "public", "internal", "@_exported", "@preconcurrency"].contains($0)
                })
            else { continue }
            let name = words[place + 1].split(separator: ".").first.map(String.init) ?? ""
            imports.append(Import(name: name, isGuarded: depth > 0))
        }
        return imports
    }
}

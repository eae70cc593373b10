import Foundation
import Testing

/// Reads the sources: libraries import what `Libraries/README.md` lets them, and `Package.swift` declares just that.
struct LayerTests {
    private static let root = URL(fileURLWithPath: #filePath).appending(path: "../../../..").standardizedFileURL

    /// A row of the table.
    private struct Layer {
        let number: Int
        let libraries: [String]
        /// The modules that every target of the layer may import.
        let base: Set<String>
        /// Further modules that single targets may import.
        let also: [String: Set<String>]
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The words in backticks.
    private static func names(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    private static func layers() throws -> [Layer] {
        try text("Libraries/README.md").split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|")
            guard cells.count == 3, let number = Int(cells[0].trimmingCharacters(in: .whitespaces).prefix(1)),
                number > 0
            else { return nil }
            let rules = cells[2].split(separator: ";")
            var base: Set<String> = []
            var also: [String: Set<String>] = [:]
            for rule in rules {
                let parts = rule.components(separatedBy: " also ")
                if parts.count == 1 {
                    base.formUnion(names(rule))
                } else {
                    for name in names(parts[0]) { also[name, default: []].formUnion(names(parts[1])) }
                }
            }
            return Layer(number: number, libraries: names(cells[1]), base: base, also: also)
        }
    }

    /// The modules that the files of a folder import.
    /// - Parameter path: The folder, from the root of the repository.
    private static func imports(in path: String) throws -> Set<String> {
        let folder = root.appending(path: path)
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var modules: Set<String> = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard let place = words.firstIndex(of: "import"), place < 3, words.count > place + 1,
                    words[..<place].allSatisfy({
                        $0.hasPrefix("@") || ["public", "private", "package"].contains($0)
                    })
                else { continue }
                modules.insert(String(words[words.count > place + 2 ? place + 2 : place + 1].prefix { $0 != "." }))
            }
        }
        return modules
    }

    /// A target of ours in `Package.swift`, with Swift files of its own.
    private struct Target {
        let folder: String
        let dependencies: Set<String>
    }

    /// The targets that `Package.swift` declares by its functions: libraries, services and tests.
    private static func targets() throws -> [Target] {
        let list = #"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"#
        let package = try text("Package.swift")
        /// - Parameter folder: The target's, made of what the pattern captures.
        func found(_ pattern: String, _ folder: ([String]) -> String) throws -> [Target] {
            try package.matches(of: Regex(pattern + "(?:,\\s*\(list))?")).map { match in
                let captured = match.output.map { $0.substring.map(String.init) ?? "" }
                // Platforms of a condition begin with a dot.
                let names = (captured.last ?? "").matches(of: #/"([A-Za-z0-9]+)"/#).map { String($0.1) }
                return Target(folder: folder(captured), dependencies: Set(names))
            }
        }
        return try found(#"\blibrary\(\s*"([A-Za-z]+)""#) { "Libraries/\($0[1])" }
            + found(#"service\(\s*"([A-Za-z]+)", executable: "[a-z-]+""#) { "Services/\($0[1])/Server" }
            + found(#"tests\(\s*"([A-Za-z]+)", "([A-Za-z]+)""#) { "Tests/\($0[1])/\($0[2])" }
    }

    @Test func `libraries import only what their layer may`() throws {
        let layers = try Self.layers()
        #expect(layers.map(\.number) == [1, 2, 3])
        var place: [String: (layer: Int, index: Int)] = [:]
        for layer in layers {
            for (index, name) in layer.libraries.enumerated() { place[name] = (layer.number, index) }
        }
        for layer in layers {
            for (index, library) in layer.libraries.enumerated() {
                for module in try Self.imports(in: "Libraries/\(library)") {
                    guard let other = place[module] else { continue }
                    let isAllowed =
                        switch layer.number {
                        case 1: layer.base.contains(module) || layer.also[library]?.contains(module) == true
                        case 2: layer.base.contains(module) || other.layer == 2 && other.index < index
                        default: other.layer < 3 || other.index < index
                        }
                    #expect(isAllowed, "\(library) imports \(module)")
                }
            }
        }
    }

    @Test func `a target declares what it imports, and nothing else`() throws {
        let targets = try Self.targets()
        let known = targets.reduce(into: Set<String>()) { $0.formUnion($1.dependencies) }
        #expect(targets.count { $0.folder.hasPrefix("Libraries/") } == (try Self.layers().flatMap(\.libraries).count))
        #expect(targets.count { $0.folder.hasPrefix("Services/") } >= 5)
        #expect(targets.count { $0.folder.hasPrefix("Tests/") } > 30)
        // An object that wraps a function of libc is only linked, so there is nothing to import.
        let linked = ["Libraries/Kafka": "CKafkaWait"]
        for target in targets {
            var imported = try Self.imports(in: target.folder).intersection(known)
            if let name = linked[target.folder] { imported.insert(name) }
            let difference = target.dependencies.symmetricDifference(imported)
            #expect(difference.isEmpty, "\(target.folder): \(difference.sorted())")
        }
    }

    @Test func `every library is in the table`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Libraries").path)
        #expect(
            Set(folders).subtracting(["C", "README.md"]) == Set(try Self.layers().flatMap(\.libraries)))
    }
}

import AppDefinition
import DocumentModel
import SyncEngine
import Testing

/// Apps that a seeded generator has broken: whatever is wrong with a file is explained with the file's name.
struct BrokenAppTests {
    /// What is done to one file.
    enum Damage: CaseIterable {
        case cut, null, number, list, text, nesting, garbage

        func text(of file: String, _ random: inout SeededGenerator) -> String {
            switch self {
            case .cut:
                return String(
                    decoding: file.utf8.prefix(Int.random(in: 1..<(file.utf8.count - 2), using: &random)), as: UTF8.self
                )
            case .null: return "null"
            case .number: return "\n5"
            case .list: return file.hasPrefix("[") ? "{\"a\": 1}" : "[[]]"
            case .text: return "\"%%true\""
            case .nesting:
                let depth = Int.random(in: 200...50_000, using: &random)
                return String(repeating: "{\"a\":[", count: depth) + String(repeating: "]}", count: depth)
            case .garbage:
                return String(
                    decoding: (0..<200).map { _ in UInt8.random(in: 33..<127, using: &random) }, as: UTF8.self)
            }
        }
    }

    /// A full app in each layout, with the files whose damage must be noticed.
    private static let bases: [AppFiles] = [AppFixture.files, OlderLayout.files]

    @Test func `each of a hundred broken apps is explained with the broken file`() throws {
        for seed in 0..<100 {
            var random = SeededGenerator(seed: UInt64(seed))
            var files = Self.bases[seed % 2]
            let paths = files.paths.filter { $0.hasSuffix(".json") }
            let path = try #require(paths.randomElement(using: &random))
            let damage = Damage.allCases[seed % Damage.allCases.count]
            files.texts[path] = damage.text(of: files[path] ?? "", &random)
            let inspection = AppDefinition.inspect(files)
            let problems = inspection.problems.filter { $0.file == path }
            #expect(!problems.isEmpty, "seed \(seed): nothing is said of \(path) with \(damage): \(files[path] ?? "")")
            #expect(inspection.problems.allSatisfy { !$0.message.isEmpty && $0.message.utf8.count < 2000 })
            try Self.expectRefusal(inspection, files)
        }
    }

    @Test func `values of wrong types inside of files end in a report, and not in a crash`() throws {
        for seed in 0..<400 {
            var random = SeededGenerator(seed: UInt64(1000 + seed))
            var files = Self.bases[seed % 2]
            let paths = files.paths.filter { $0.hasSuffix(".json") }
            let path = try #require(paths.randomElement(using: &random))
            let value = try ExtendedJSON.parse(files[path] ?? "")
            let damaged = Self.damaged(value, depth: Int.random(in: 1...5, using: &random), &random)
            files.texts[path] = ExtendedJSON.print(damaged, mode: .relaxed)
            try Self.expectRefusal(AppDefinition.inspect(files), files)
        }
    }

    /// An app with an error isn't made, and one without is the same when it is read from its stored form.
    private static func expectRefusal(_ inspection: AppDefinition.Inspection, _ files: AppFiles) throws {
        if inspection.isDeployable {
            let stored = try AppDefinition(stored: inspection.definition.document)
            #expect(stored.id == inspection.definition.id && !stored.id.isEmpty)
            #expect(stored.functions.count == inspection.definition.functions.count)
        } else {
            #expect(throws: AppDefinitionError.self) { try AppDefinition(files: files) }
        }
    }

    private static func damaged(_ value: Value, depth: Int, _ random: inout SeededGenerator) -> Value {
        let others: [Value] = [.null, true, 5, "x", [], [:], [[[]]], ["a": ["b": .null]], .double(.nan)]
        switch value {
        case .document(var document) where depth > 0 && !document.isEmpty:
            let index = Int.random(in: document.fields.indices, using: &random)
            document.fields[index].value = damaged(document.fields[index].value, depth: depth - 1, &random)
            return .document(document)
        case .array(var items) where depth > 0 && !items.isEmpty:
            let index = Int.random(in: items.indices, using: &random)
            items[index] = damaged(items[index], depth: depth - 1, &random)
            return .array(items)
        default: return others.randomElement(using: &random) ?? .null
        }
    }
}

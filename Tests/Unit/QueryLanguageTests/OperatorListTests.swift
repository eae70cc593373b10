import DocumentModel
import Foundation
import QueryLanguage
import Testing
import Vectors

/// MongoDB's operators by name: each has a case, or is on the page of unsupported ones and is refused by name.
@Suite struct OperatorListTests {
    /// A row of the page.
    struct Entry: Sendable, CustomTestStringConvertible {
        let name: String
        let kind: String
        let example: Value
        var testDescription: String { "\(kind) \(name)" }
    }

    static let entries: [Entry] = {
        let page = root.appendingPathComponent("Libraries/QueryLanguage/QueryLanguage.docc/NotSupported.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let cells = line.components(separatedBy: " | ")
            guard cells.count >= 4, line.hasPrefix("| `") else { return nil }
            let code = cells[2].trimmingCharacters(in: CharacterSet(charactersIn: "` "))
            guard let example = try? ExtendedJSON.parse(code) else { return nil }
            return Entry(name: String(cells[0].dropFirst(2)), kind: cells[1], example: example)
        }
    }()

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `the page of what isn't supported is read completely`() throws {
        let page = Self.root.appendingPathComponent("Libraries/QueryLanguage/QueryLanguage.docc/NotSupported.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == Self.entries.count)
    }

    @Test(arguments: entries)
    func `an unsupported feature is reported`(entry: Entry) async throws {
        let example = entry.example
        let error = await #expect(throws: QueryError.self) {
            switch entry.kind {
            case "filter": _ = try Filter(example.documentValue ?? [:])
            case "expression": _ = try Expression(example)
            case "accumulator": _ = try Pipeline([["$group": ["_id": 1, "a": example]]])
            case "window": _ = try Pipeline([["$setWindowFields": ["sortBy": ["a": 1], "output": ["a": example]]]])
            case "stage":
                let pipeline = try Pipeline([example.documentValue ?? [:]])
                _ = try await pipeline.run([["_id": 1]], context: PipelineContext())
            case "projection": _ = try Projection(example.documentValue ?? [:])
            case "sort": _ = try Sort(example.documentValue ?? [:])
            case "collation": _ = try Collation(example.documentValue ?? [:])
            default: Issue.record("\(entry.kind) is no kind")
            }
        }
        #expect(error?.code == 115)
        #expect(error?.codeName == "CommandNotSupported")
        #expect(error?.message.contains("not supported") == true)
    }

    @Test func `every operator of MongoDB has a case or is listed`() throws {
        let list = try ExtendedJSON.parseDocument(
            [UInt8](Data(contentsOf: Self.root.appendingPathComponent("Tests/Vectors/operators.json"))))
        var used: [String: Set<String>] = [:]
        for name in VectorFile.names {
            for vector in try VectorFile(name).cases where vector.expected["error"] == nil {
                used[vector.kind, default: []].formUnion(Self.names(in: .document(vector.operation)))
            }
        }
        let all = used.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        let listed = Set(
            Self.entries.map { $0.name.replacing("`", with: "").split(separator: " ").first.map(String.init) ?? "" })
        for field in list.fields {
            for name in field.value.arrayValue?.compactMap(\.stringValue) ?? [] {
                let isUsed =
                    switch field.key {
                    case "filter": used["filter"]?.contains(name) ?? false
                    case "update": all.contains(name)
                    case "expression":
                        (used["expression"]?.contains(name) ?? false) || used["pipeline"]?.contains(name) ?? false
                    default: used["pipeline"]?.contains(name) ?? false || used["expression"]?.contains(name) ?? false
                    }
                #expect(isUsed || listed.contains(name), "\(field.key) \(name) has no case and isn't listed")
            }
        }
    }

    /// The names with a `$` in a value, keys and variables.
    private static func names(in value: Value) -> Set<String> {
        switch value {
        case .document(let document):
            document.fields.reduce(into: []) { names, field in
                if field.key.hasPrefix("$") { names.insert(field.key) }
                names.formUnion(Self.names(in: field.value))
            }
        case .array(let elements): elements.reduce(into: []) { $0.formUnion(names(in: $1)) }
        case .string(let text) where text.hasPrefix("$$"): [String(text.prefix { $0 != "." })]
        case .regex: ["$regex", "$options"]
        default: []
        }
    }
}

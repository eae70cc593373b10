import DocumentModel
import Foundation
import QueryLanguage
import Testing

/// The cases under `Vectors/`: one JSON file per operator, each an array of `{name, given, operation, expected}` in Extended JSON.
///
/// `operation` says what is done with `given`, `expected` is the result, or `{error: code}`. See `Vectors/README.md`.
@Suite struct VectorTests {
    static let files: [String] = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Vectors")
        let paths = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        return (paths?.allObjects ?? []).compactMap { ($0 as? URL)?.path }.filter { $0.hasSuffix(".json") }.sorted()
    }()

    @Test(arguments: files)
    func `the engine answers as MongoDB documents it`(file: String) async throws {
        let data = try #require(FileManager.default.contents(atPath: file))
        let cases = try #require(try ExtendedJSON.parse([UInt8](data)).arrayValue)
        for (index, value) in cases.enumerated() {
            let vector = try #require(value.documentValue)
            let name = vector["name"]?.stringValue ?? "case \(index)"
            let expected = try #require(vector["expected"])
            let actual: Value
            do {
                actual = try await VectorRunner(vector: vector).run()
            } catch {
                actual = ["error": .integer((error as? QueryError)?.code ?? -1)]
                if expected["error"] == nil {
                    Issue.record("\(file.split(separator: "/").last ?? ""), \(name): \(error)")
                }
            }
            #expect(
                actual.isSame(as: expected),
                "\(file.split(separator: "/").suffix(2).joined(separator: "/")), \(name): \(actual) instead of \(expected)"
            )
        }
    }
}

extension Value {
    /// Identical, where the vector's text tells the type; plain numbers stand for any type of number.
    fileprivate func isSame(as expected: Value) -> Bool {
        switch (self, expected) {
        case (.document(let a), .document(let b)):
            a.count == b.count
                && zip(a.fields, b.fields).allSatisfy { $0.key == $1.key && $0.value.isSame(as: $1.value) }
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        default: self == expected && (isNumber || isIdentical(to: expected))
        }
    }
}

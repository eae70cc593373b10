import AppDefinition
import DocumentModel
import Testing

/// Apps with the oddities that exports have in practice.
struct CorpusTests {
    @Test func `the corpus has at least sixty apps, each with its own name`() {
        #expect(OddApps.all.count >= 60)
        #expect(Set(OddApps.all.map(\.name)).count == OddApps.all.count)
    }

    @Test(arguments: OddApps.all)
    func `an odd app is read, and what is said of it is`(_ odd: OddApp) throws {
        let inspection = AppDefinition.inspect(odd.files)
        let report = inspection.problems.map { problem in
            let file = problem.file.isEmpty ? "." : problem.file
            return "\(file)\(problem.line.map { ":\($0)" } ?? "") \(problem.severity) \(problem.code.rawValue)"
        }
        #expect(report == odd.report, "\(inspection.problems)")
        let messages = inspection.problems.map(\.message).joined(separator: "\n")
        for text in odd.says { #expect(messages.contains(text), "\(messages)") }
        #expect(!messages.contains("hunter2"))
        #expect(inspection.isDeployable == !odd.report.contains { $0.contains(" error ") })
        try odd.check(inspection.definition)
        // The services read the stored form, and must come to the same app.
        let stored = try AppDefinition(stored: inspection.definition.document)
        #expect(stored.id == inspection.definition.id && stored.files == odd.files)
        #expect(stored.sync?.partitionKey == inspection.definition.sync?.partitionKey)
    }
}

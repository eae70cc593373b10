import DocumentModel
import Testing
import Vectors

@Suite struct VectorTests {
    @Test(arguments: VectorFile.names)
    func `the engine answers as MongoDB documents it`(file: String) async throws {
        for vector in try VectorFile(file).cases {
            let result = try await VectorRunner(vector: vector).run()
            if !vector.accepts(result) {
                Issue.record("\(vector.name): \(result) instead of \(vector.expected) by \(vector.operation)")
            }
        }
    }
}

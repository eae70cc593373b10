import DocumentModel
import DocumentSchema
import Testing
import Vectors

@Suite struct SchemaVectorTests {
    @Test(arguments: [DocumentSchema.Dialect.query, .collection])
    func `documents are accepted as an independent validator does`(_ dialect: DocumentSchema.Dialect) throws {
        let vectors = try SchemaVector.all()
        #expect(vectors.count >= 600)
        for vector in vectors {
            let schema = try DocumentSchema(vector.schema, dialect: dialect)
            for one in vector.cases {
                let expected = dialect == .query ? one.isAcceptedByQuery : one.isAcceptedByCollection
                let violations = try schema.violations(in: .document(one.document))
                #expect(
                    violations.isEmpty == expected,
                    "\(text(one.document)) by \(text(vector.schema)): \(violations)")
            }
        }
    }

    private func text(_ document: Document) -> String { ExtendedJSON.print(.document(document), mode: .canonical) }
}

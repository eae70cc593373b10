public import DocumentModel
import Foundation

/// A schema and documents, with the verdict of an independent validator (`Reference/schemas_reference.py`).
public struct SchemaVector: Sendable {
    /// A document, and whether it is accepted.
    public struct Case: Sendable {
        public let document: Document
        /// By `$jsonSchema`, as MongoDB reads it.
        public let isAcceptedByQuery: Bool
        /// By the same as a collection's `schema.json`.
        public let isAcceptedByCollection: Bool
    }

    public let schema: Document
    public let cases: [Case]

    /// Reads `schemas.json`.
    public static func all() throws -> [SchemaVector] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("schemas.json")
        let list = try ExtendedJSON.parse([UInt8](try Data(contentsOf: file))).arrayValue ?? []
        let vectors = list.compactMap { value -> SchemaVector? in
            guard let schema = value["schema"]?.documentValue, let cases = value["cases"]?.arrayValue else {
                return nil
            }
            return SchemaVector(
                schema: schema,
                cases: cases.compactMap { one in
                    guard case .array(let parts) = one, parts.count == 3, let document = parts[0].documentValue else {
                        return nil
                    }
                    return Case(
                        document: document, isAcceptedByQuery: parts[1] == true,
                        isAcceptedByCollection: parts[2] == true)
                })
        }
        guard vectors.count == list.count, vectors.allSatisfy({ $0.cases.count == 5 }) else {
            throw VectorError(message: "schemas.json: a case is incomplete")
        }
        return vectors
    }
}

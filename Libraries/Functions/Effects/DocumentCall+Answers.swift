import DocumentModel
import DocumentStore

/// Answers in the shapes that functions and SDKs expect. Counts are 32-bit integers.
extension DocumentCall {
    static func count(_ number: Int) -> Value { .int32(Int32(clamping: number)) }

    static func answer(_ document: Document?) -> Value { document.map { .document($0) } ?? .null }

    static func answer(_ result: UpdateResult) -> Value {
        var answer: Document = [
            "matchedCount": count(result.matchedCount), "modifiedCount": count(result.modifiedCount),
        ]
        answer["upsertedId"] = result.upsertedId
        return .document(answer)
    }

    static func answer(_ result: BulkWriteResult) -> Value {
        .document([
            "insertedCount": count(result.insertedCount), "matchedCount": count(result.matchedCount),
            "modifiedCount": count(result.modifiedCount), "deletedCount": count(result.deletedCount),
            "upsertedCount": count(result.upsertedIds.count), "insertedIds": .document(byPlace(result.insertedIds)),
            "upsertedIds": .document(byPlace(result.upsertedIds)),
        ])
    }

    private static func byPlace(_ ids: [Int: Value]) -> Document {
        Document(fields: ids.sorted { $0.key < $1.key }.map { .init("\($0.key)", $0.value) })
    }
}

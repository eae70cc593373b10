import DocumentModel
import QueryLanguage

/// What a device shows: the server's document with the device's own pending operations applied on top.
public enum LocalView {
    /// The document that is shown.
    ///
    /// An operation that can't be applied here is skipped; the server decides about it.
    ///
    /// - Parameters:
    ///   - server: The server's document as received; `nil` when there is none.
    ///   - operations: The pending operations on it, in the order in which they were made, each with its time.
    public static func document(
        server: ServerDocument?, operations: [(operation: Operation, clock: HybridTime)]
    ) -> Document? {
        var document = server?.document
        var incarnation = server?.incarnation
        for (operation, clock) in operations {
            let isMeant = operation.incarnation == nil || operation.incarnation == incarnation
            switch operation.kind {
            case .insert(let inserted):
                if document == nil { incarnation = nil }
                document = merge(inserted, into: document)
            case .update(let operators, let arrayFilters):
                guard isMeant, var updated = document else { continue }
                do throws(QueryError) {
                    _ = try Update(operators, arrayFilters: arrayFilters)
                        .apply(to: &updated, now: clock.milliseconds)
                } catch {
                    continue
                }
                document = updated
            case .delete:
                if isMeant { document = nil }
            }
        }
        return document
    }

    private static func merge(_ inserted: Document, into present: Document?) -> Document {
        guard var merged = present else { return inserted }
        for field in inserted.fields where field.key != "_id" { merged[field.key] = field.value }
        return merged
    }
}

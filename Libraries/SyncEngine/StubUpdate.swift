import DocumentModel

struct QueryError: Error { var message: String }
struct Update {
    let operators: Document
    init(_ document: Document, arrayFilters: [Document]) throws(QueryError) { operators = document }
    func apply(to document: inout Document) throws(QueryError) -> UpdateDescription {
        var d = UpdateDescription()
        for op in operators.fields {
            for a in op.value.documentValue?.fields ?? [] {
                switch op.key {
                case "$set":
                    if document.value(at: a.key)?.isIdentical(to: a.value) == true { continue }
                    document.set(a.value, at: a.key); d.updatedFields[a.key] = a.value
                case "$unset":
                    if document.value(at: a.key) == nil { continue }
                    document.set(nil, at: a.key); d.removedFields.append(a.key)
                case "$inc":
                    let old = document.value(at: a.key) ?? .int32(0)
                    guard let n = old.int64Value else { throw QueryError(message: "not a number") }
                    let v = Value.integer(n + (a.value.int64Value ?? 0))
                    document.set(v, at: a.key); d.updatedFields[a.key] = v
                case "$push":
                    let old = document.value(at: a.key)?.arrayValue ?? []
                    document.set(.array(old + [a.value]), at: a.key); d.updatedFields[a.key + ".\(old.count)"] = a.value
                default: throw QueryError(message: "stub")
                }
            }
        }
        return d
    }
}

/// Tables, columns and objects.
extension MergeRules {
    /// - Returns: Whether the column that `b` adds has to be erased before `a`.
    static func mergeDefinitions(_ a: inout MergeNode, _ b: inout MergeNode) throws(TransformError) -> Bool {
        switch (a.action, b.action) {
        case (.addTable(let first), .addTable(let second)) where a.table == b.table:
            guard agree(first, second), a.named == b.named else {
                throw TransformError(.schemaMismatch, "both sides add a table, in different ways")
            }
            a.isDiscarded = true
            b.isDiscarded = true
        case (.addTable, .eraseTable) where a.table == b.table: a.isDiscarded = true
        case (.eraseTable, .eraseTable) where a.table == b.table:
            a.isDiscarded = true
            b.isDiscarded = true
        case (.eraseTable, .addColumn(let column)) where column.type == .link && b.named == a.table:
            b.isDiscarded = true
            return true
        case (.addColumn(let first), .addColumn(let second)) where a.table == b.table && a.field == b.field:
            guard first.type == second.type, first.isNullable == second.isNullable,
                first.collection == second.collection, a.named == b.named
            else { throw TransformError(.schemaMismatch, "both sides add a column, in different ways") }
            a.isDiscarded = true
            b.isDiscarded = true
        case (.addColumn, .eraseColumn) where a.table == b.table && a.field == b.field: a.isDiscarded = true
        case (.eraseColumn, .eraseColumn) where a.table == b.table && a.field == b.field:
            a.isDiscarded = true
            b.isDiscarded = true
        case (.eraseColumn, .edit(.update)), (.eraseColumn, .edit(.updateElement)):
            if a.table == b.table, a.field == b.field { b.isDiscarded = true }
        case (.createObject, .eraseObject) where a.object == b.object: a.isDiscarded = true
        case (.eraseObject, .eraseObject) where a.object == b.object: discardEarlier(&a, &b)
        default: break
        }
        return false
    }

    private static func agree(_ a: TableKind, _ b: TableKind) -> Bool {
        switch (a, b) {
        case (.embedded, .embedded): true
        case (.topLevel(let a), .topLevel(let b)), (.asymmetric(let a), .asymmetric(let b)):
            a.type == b.type && a.isNullable == b.isNullable
        default: false
        }
    }
}

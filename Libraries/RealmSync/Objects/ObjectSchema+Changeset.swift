extension ObjectSchema {
    /// The changeset that makes all classes and properties in a file that has none of them, or only the same.
    public func changeset() -> Changeset {
        var builder = ChangesetBuilder()
        let ordered = classes.sorted { $0.key < $1.key }
        // All tables before the columns that lead to them.
        for (name, type) in ordered {
            var kind = TableKind.embedded
            if let key = type.key {
                kind = .topLevel(
                    PrimaryKeyColumn(field: builder.name(key.name), type: key.type, isNullable: key.isNullable))
            }
            builder.append(.addTable(builder.name(name.text), kind))
        }
        for (name, type) in ordered {
            for (field, property) in type.ordered {
                var column = Column(
                    type: property.type, isNullable: property.isNullable, collection: property.collection)
                if let target = property.target { column.target = builder.name(target.text) }
                if property.collection == .dictionary { column.keyType = .string }
                builder.append(.addColumn(table: builder.name(name.text), field: builder.name(field), column))
            }
        }
        return builder.changeset
    }
}

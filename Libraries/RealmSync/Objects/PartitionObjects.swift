public import DocumentModel

/// The objects of a partition as a client has them when it has applied a history, or a part of them: those that a changeset concerns.
///
/// An object is a document whose fields are its properties. A property that has the initial value of its type has no field: null, zero,
/// an empty text or an empty collection. Integers are 64-bit, numbers with a fraction doubles, points in time dates (without their parts of
/// a millisecond), UUIDs binaries of subtype 4, links the primary key of their target, a set an array in the order of its values. In a mixed
/// property a link is a document of `$ref`, the class, and `$id`.
public struct PartitionObjects: Sendable {
    /// The classes.
    public internal(set) var schema: ObjectSchema
    /// The objects, without their keys.
    public var objects: [ObjectKey: Document]

    /// - Parameter objects: All that a changeset to be applied concerns, see ``Changeset/objects()``.
    public init(schema: ObjectSchema = ObjectSchema(), objects: [ObjectKey: Document] = [:]) {
        self.schema = schema
        self.objects = objects
    }

    /// How many elements of collections the edits of a changeset may move: about a second of work.
    private static let maximumWork = 200_000_000

    /// Applies a changeset as realm-core does.
    /// - Throws: ``ApplyError``; what precedes the instruction that can't be applied has been applied then.
    public mutating func apply(_ changeset: Changeset) throws(ApplyError) {
        let texts = ChangesetTexts(changeset.strings)
        var work = 0
        for instruction in changeset.instructions { try apply(instruction, texts, &work) }
    }

    private mutating func apply(
        _ instruction: Instruction, _ texts: ChangesetTexts, _ work: inout Int
    ) throws(ApplyError) {
        switch instruction {
        case .addTable(let table, let kind): try addTable(try texts.name(table), kind, texts)
        case .eraseTable(let table):
            let name = try texts.name(table)
            guard schema.classes.removeValue(forKey: name) != nil else { throw Self.noTable(name) }
            objects = objects.filter { !$0.key.table.hasSameBytes(as: name.text) }
        case .addColumn(let table, let field, let column):
            try addColumn(try texts.name(table), try texts.name(field), column, texts)
        case .eraseColumn(let table, let field): try eraseColumn(try texts.name(table), try texts.name(field))
        case .createObject(let table, let key):
            let key = try texts.key(table, key)
            try check(key)
            if objects[key] == nil { objects[key] = Document() }
        case .eraseObject(let table, let key):
            let key = try texts.key(table, key)
            try check(key)
            objects[key] = nil
        case .edit(let path, let edit):
            let key = try texts.key(path.table, path.key), field = try texts.name(path.field)
            guard let found = schema.classes[ExactText(key.table)] else { throw Self.noTable(ExactText(key.table)) }
            guard let property = found.properties[field] else {
                throw ApplyError(.unknownProperty, "\(key.table) has no property \(field)")
            }
            guard objects[key] != nil else { throw ApplyError(.noObject, "an object of \(key.table) doesn't exist") }
            var change = ObjectEdit(schema: schema, name: "\(key.table).\(field)", edit: edit, texts: texts)
            try change.apply(toPropertyOf: &objects[key, default: Document()], field.text, property, path.elements[...])
            work += change.moved
            guard work <= Self.maximumWork else {
                throw ApplyError(.tooMuchWork, "the edits of large collections take too much work")
            }
        }
    }

    private static func noTable(_ name: ExactText) -> ApplyError {
        ApplyError(.unknownTable, "there is no class \(name)")
    }

    private func check(_ key: ObjectKey) throws(ApplyError) {
        guard let found = schema.classes[ExactText(key.table)] else { throw Self.noTable(ExactText(key.table)) }
        guard let column = found.key else {
            throw ApplyError(.wrongType, "objects of \(key.table) exist only in others")
        }
        guard column.accepts(key.id) else {
            throw ApplyError(.wrongType, "a primary key of \(key.table) is of another type")
        }
    }

    /// Changes objects, and makes the changeset that does the same.
    /// - Parameter changes: What the objects are then; `nil` erases one. Keys of unknown classes are left out.
    public mutating func change(_ changes: [(key: ObjectKey, object: Document?)]) -> Changeset {
        var change = ObjectChange(schema: schema, builder: ChangesetBuilder())
        for (key, object) in changes {
            guard let type = schema.classes[ExactText(key.table)] else { continue }
            change.write(key, of: type, from: objects[key], to: object)
            objects[key] = object
        }
        return change.builder.changeset
    }

    // MARK: The schema

    private mutating func addTable(
        _ name: ExactText, _ kind: TableKind, _ texts: ChangesetTexts
    ) throws(ApplyError) {
        let column: PrimaryKeyColumn? =
            switch kind {
            case .embedded: nil
            case .topLevel(let column), .asymmetric(let column): column
            }
        var key: ObjectSchema.Key?
        if let column {
            key = .init(name: try texts.name(column.field).text, type: column.type, isNullable: column.isNullable)
        }
        if let known = schema.classes[name] {
            guard known.key == key else { throw ApplyError(.schemaConflict, "there is another class \(name)") }
        } else {
            schema.classes[name] = .init(key: key)
        }
    }

    private mutating func addColumn(
        _ table: ExactText, _ field: ExactText, _ column: Column, _ texts: ChangesetTexts
    ) throws(ApplyError) {
        var property = ObjectSchema.Property(
            type: column.type, isNullable: column.isNullable, collection: column.collection)
        if let target = column.target { property.target = try texts.name(target) }
        // In place: with a copy of the class at hand, each property that is added would copy all others.
        guard let count = schema.classes[table]?.properties.count else { throw Self.noTable(table) }
        if let known = schema.classes[table]?.properties[field] {
            guard known == property else {
                throw ApplyError(.schemaConflict, "there is another property \(table).\(field)")
            }
            return
        }
        guard count < Self.maximumProperties else {
            throw ApplyError(
                .schemaConflict, "a class has more than \(Self.maximumProperties) properties, which no app has")
        }
        schema.classes[table]?.properties[field] = property
    }

    /// The most properties of a class.
    private static let maximumProperties = 10_000

    private mutating func eraseColumn(_ table: ExactText, _ field: ExactText) throws(ApplyError) {
        guard schema.classes[table] != nil else { throw Self.noTable(table) }
        guard schema.classes[table]?.properties.removeValue(forKey: field) != nil else {
            throw ApplyError(.unknownProperty, "\(table) has no property \(field)")
        }
        for (key, object) in objects {
            guard let found = schema.classes[ExactText(key.table)] else { continue }
            objects[key] = erase(field, of: table, in: object, ExactText(key.table), found)
        }
    }

    /// An object of a class without a property of the objects of another class that are embedded in it, or of its own.
    private func erase(
        _ field: ExactText, of table: ExactText, in object: Document, _ name: ExactText, _ found: ObjectSchema.Class
    ) -> Document {
        var object = object
        if name == table { object[field.text] = nil }
        for (property, type) in found.properties {
            guard let target = type.target, let inner = schema.embedded(in: type), let value = object[property.text]
            else { continue }
            func erased(_ value: Value) -> Value {
                guard case .document(let document) = value else { return value }
                return .document(erase(field, of: table, in: document, target, inner))
            }
            switch (type.collection, value) {
            case (.dictionary, .document(let entries)):
                object[property.text] = .document(
                    Document(fields: entries.fields.map { .init($0.key, erased($0.value)) }))
            case (_, .array(let elements)): object[property.text] = .array(elements.map(erased))
            default: object[property.text] = erased(value)
            }
        }
        return object
    }
}

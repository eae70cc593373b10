import DocumentModel

/// Makes a changeset from values.
struct ChangesetBuilder {
    private(set) var changeset = Changeset()

    mutating func append(_ instruction: Instruction) { changeset.instructions.append(instruction) }

    mutating func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }

    mutating func key(_ id: ObjectKey.Id) -> PrimaryKey {
        switch id {
        case .null: .null
        case .int(let number): .int(number)
        case .string(let text): .string(name(text.text))
        case .objectId(let id): .objectId(id)
        case .uuid(let uuid): .uuid(uuid)
        }
    }

    mutating func path(_ key: ObjectKey, _ field: String) -> Path {
        Path(table: name(key.table), key: self.key(key.id), field: name(field))
    }

    /// What writes a value that is neither a collection nor an embedded object.
    mutating func payload(_ value: Value, _ type: ObjectSchema.Property) -> Payload {
        if type.type == .link, let target = type.target, let id = ObjectKey.Id(value), id != .null {
            return .link(table: name(target.text), key: key(id))
        }
        switch value {
        case .int64(let number): return .int(number)
        case .bool(let flag): return .bool(flag)
        case .string(let text): return .string(changeset.strings.append(text.utf8))
        case .binary(let binary):
            if let uuid = UUIDBytes(binary) { return .uuid(uuid) }
            return .binary(changeset.strings.append(binary.bytes))
        case .date(let milliseconds): return .timestamp(RealmTimestamp(milliseconds: milliseconds))
        case .double(let number): return type.type == .float ? .float(Float(number)) : .double(number)
        case .decimal128(let number): return .decimal(number)
        case .objectId(let id): return .objectId(id)
        default:
            guard let link = value.mixedLink else { return .null }
            return .link(table: name(link.table), key: key(link.id))
        }
    }
}

import DocumentModel
import RealmSync
import Vectors

/// Instructions as the vectors print them.
extension Changeset {
    var readable: [Value] { instructions.map { .document(Document(fields: readable($0))) } }

    private func text(_ string: InternString) -> Value {
        .string(String(decoding: strings.bytes(string), as: UTF8.self))
    }

    private func readable(_ instruction: Instruction) -> [Document.Field] {
        func object(_ name: String, _ table: InternString, _ key: PrimaryKey) -> [Document.Field] {
            [.init("op", .string(name)), .init("table", text(table)), .init("pk", readable(key))]
        }
        switch instruction {
        case .addTable(let table, let kind):
            let (name, key): (String, PrimaryKeyColumn?) =
                switch kind {
                case .topLevel(let key): ("TopLevel", key)
                case .embedded: ("Embedded", nil)
                case .asymmetric(let key): ("TopLevelAsymmetric", key)
                }
            let fields: [Document.Field] = [
                .init("op", "AddTable"), .init("table", text(table)), .init("kind", .string(name)),
            ]
            guard let key else { return fields }
            return fields + [
                .init("pk_field", text(key.field)), .init("pk_type", readable(key.type)),
                .init("pk_nullable", .bool(key.isNullable)),
            ]
        case .eraseTable(let table): return [.init("op", "EraseTable"), .init("table", text(table))]
        case .addColumn(let table, let field, let column):
            var fields: [Document.Field] = [
                .init("op", "AddColumn"), .init("table", text(table)), .init("field", text(field)),
                .init("type", readable(column.type)), .init("nullable", .bool(column.isNullable)),
                .init("collection", readable(column.collection)),
            ]
            if let target = column.target { fields.append(.init("target", text(target))) }
            if let type = column.keyType { fields.append(.init("key_type", readable(type))) }
            return fields
        case .eraseColumn(let table, let field):
            return [.init("op", "EraseColumn"), .init("table", text(table)), .init("field", text(field))]
        case .createObject(let table, let key): return object("CreateObject", table, key)
        case .eraseObject(let table, let key): return object("EraseObject", table, key)
        case .edit(let path, let edit):
            let (name, rest) = readable(edit)
            let elements: [Value] = path.elements.map {
                switch $0 {
                case .index(let index): .int64(Int64(index))
                case .key(let key): text(key)
                }
            }
            return object(name, path.table, path.key)
                + [.init("field", text(path.field)), .init("path", .array(elements))] + rest
        }
    }

    private func readable(_ edit: Edit) -> (String, [Document.Field]) {
        func size(_ size: UInt32) -> Document.Field { .init("prior_size", .int64(Int64(size))) }
        func value(_ payload: Payload) -> Document.Field { .init("value", readable(payload)) }
        switch edit {
        case .update(let payload, let isDefault):
            return ("Update", [value(payload), .init("is_default", .bool(isDefault))])
        case .updateElement(let payload, let prior): return ("Update", [value(payload), size(prior)])
        case .addInteger(let number): return ("AddInteger", [.init("value", .string("\(number)"))])
        case .arrayInsert(let payload, let prior): return ("ArrayInsert", [value(payload), size(prior)])
        case .arrayMove(let target, let prior):
            return ("ArrayMove", [.init("to", .int64(Int64(target))), size(prior)])
        case .arrayErase(let prior): return ("ArrayErase", [size(prior)])
        case .clear(let collection): return ("Clear", [.init("collection", readable(collection))])
        case .setInsert(let payload): return ("SetInsert", [value(payload)])
        case .setErase(let payload): return ("SetErase", [value(payload)])
        }
    }

    private func readable(_ collection: CollectionType) -> Value {
        switch collection {
        case .single: "Single"
        case .list: "List"
        case .dictionary: "Dictionary"
        case .set: "Set"
        }
    }

    /// As the type of a column.
    private func readable(_ type: PayloadType) -> Value {
        type == .null ? "Mixed" : .string(Self.name(type))
    }

    private static func name(_ type: PayloadType) -> String {
        if type == .objectId { return "ObjectId" }
        if type == .uuid { return "UUID" }
        let name = "\(type)"
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    private func readable(_ key: PrimaryKey) -> Value {
        switch key {
        case .null: .null
        case .int(let number): ["Int": .string("\(number)")]
        case .string(let string): ["String": text(string)]
        case .objectId(let id): ["ObjectId": .string(hexText(id.bytes))]
        case .uuid(let uuid): ["UUID": .string(Self.hex(uuid))]
        case .globalKey(let high, let low): ["GlobalKey": [.string("\(high)"), .string("\(low)")]]
        }
    }

    private static func hex(_ uuid: UUIDBytes) -> String {
        hexText(
            [uuid.high, uuid.low].flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
            })
    }

    private static func hex(littleEndian bits: UInt64, count: Int) -> Value {
        .string(hexText((0..<count).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }))
    }

    private func readable(_ payload: Payload) -> Value {
        let value: Value =
            switch payload {
            case .null, .objectValue, .dictionary, .list, .set, .erased: true
            case .int(let number): .string("\(number)")
            case .bool(let flag): .bool(flag)
            case .string(let range): .string(String(decoding: strings.bytes(range), as: UTF8.self))
            case .binary(let range): .string(hexText(strings.bytes(range)))
            case .timestamp(let time): [.string("\(time.seconds)"), .int64(Int64(time.nanoseconds))]
            case .float(let number): Self.hex(littleEndian: UInt64(number.bitPattern), count: 4)
            case .double(let number): Self.hex(littleEndian: number.bitPattern, count: 8)
            case .decimal(let decimal): .decimal128(decimal)
            case .link(let table, let key): [text(table), readable(key)]
            case .objectId(let id): .string(hexText(id.bytes))
            case .uuid(let uuid): .string(Self.hex(uuid))
            }
        return .document(Document(fields: [.init(Self.name(payload.type), value)]))
    }
}

/// The instructions that a vector expects: of floating-point numbers the bytes, and decimals as such instead of their texts.
func expectedInstructions(_ vector: Document) -> [Value]? {
    vector["instructions"]?.arrayValue?.map { instruction in
        guard var fields = instruction.documentValue, let value = fields["value"]?.documentValue else {
            return instruction
        }
        if let bytes = value["le_bytes"], let name = value.fields.first?.key {
            fields["value"] = .document(Document(fields: [.init(name, bytes)]))
        } else if let text = value["Decimal"]?.stringValue, let decimal = Decimal128(text) {
            fields["value"] = ["Decimal": .decimal128(decimal)]
        } else if let time = value["Timestamp"]?.arrayValue, time.count == 2 {
            fields["value"] = ["Timestamp": [time[0], .int64(time[1].int64Value ?? 0)]]
        }
        return .document(fields)
    }
}

import DocumentModel

extension Changeset {
    /// Reads a changeset.
    ///
    /// What it reads has the form that instructions need, but may not fit the data: that a table or an object exists is checked when it
    /// is applied.
    /// - Throws: `ChangesetError`, with the byte at which the fault was found.
    public init(_ bytes: [UInt8], limits: ChangesetLimits = ChangesetLimits()) throws(ChangesetError) {
        guard bytes.count <= limits.bytes else {
            throw ChangesetError(.tooLarge, at: limits.bytes, "it has more than \(limits.bytes) bytes, the limit")
        }
        let decoded = bytes.withUnsafeBytes { bytes in
            Result { () throws(ChangesetError) in
                var decoder = ChangesetDecoder(reader: ChangesetReader(bytes), limits: limits)
                return try decoder.changeset()
            }
        }
        self = try decoded.get()
    }
}

/// Reads instructions.
private struct ChangesetDecoder {
    var reader: ChangesetReader
    let limits: ChangesetLimits
    private var strings = InternStrings()

    init(reader: ChangesetReader, limits: ChangesetLimits) {
        self.reader = reader
        self.limits = limits
    }

    mutating func changeset() throws(ChangesetError) -> Changeset {
        var instructions: [Instruction] = []
        while !reader.isAtEnd {
            let start = reader.position
            guard let opcode = Opcode(rawValue: try reader.int64()) else {
                throw reader.fault(.unknownInstruction, "an unknown instruction", at: start)
            }
            guard opcode != .internString else {
                try internString()
                continue
            }
            guard instructions.count < limits.instructions else {
                throw reader.fault(
                    .tooLarge, "it has more than \(limits.instructions) instructions, the limit", at: start)
            }
            instructions.append(try instruction(opcode))
        }
        var changeset = Changeset()
        changeset.strings = strings
        changeset.instructions = instructions
        return changeset
    }

    private mutating func internString() throws(ChangesetError) {
        let start = reader.position
        guard try reader.uint32() == strings.ranges.count else {
            throw reader.fault(.badString, "an interned string is out of order", at: start)
        }
        guard strings.ranges.count < limits.strings else {
            throw reader.fault(.tooLarge, "it has more than \(limits.strings) interned strings, the limit", at: start)
        }
        let bytes = try reader.counted(), count = strings.ranges.count
        _ = strings.intern(bytes)
        guard strings.ranges.count > count else {
            throw reader.fault(.badString, "a string is interned twice", at: start)
        }
    }

    private mutating func string() throws(ChangesetError) -> InternString {
        let start = reader.position
        let index = try reader.uint32()
        guard index < strings.ranges.count else {
            throw reader.fault(.badString, "a string isn't interned", at: start)
        }
        return InternString(index: index)
    }

    private mutating func instruction(_ opcode: Opcode) throws(ChangesetError) -> Instruction {
        let table = try string()
        switch opcode {
        case .addTable: return .addTable(table, try tableKind())
        case .eraseTable: return .eraseTable(table)
        case .createObject: return .createObject(table: table, try primaryKey())
        case .eraseObject: return .eraseObject(table: table, try primaryKey())
        case .addColumn:
            let field = try string()
            return .addColumn(table: table, field: field, try column())
        case .eraseColumn: return .eraseColumn(table: table, field: try string())
        case .update, .addInteger, .arrayInsert, .arrayMove, .arrayErase, .clear, .setInsert, .setErase, .internString:
            let path = try path(table)
            return .edit(path, try edit(opcode, path))
        }
    }

    private mutating func tableKind() throws(ChangesetError) -> TableKind {
        let start = reader.position
        let kind = try reader.int64()
        guard (0...2).contains(kind) else { throw reader.fault(.unknownType, "an unknown kind of table", at: start) }
        if kind == 1 { return .embedded }
        let field = try string(), typeStart = reader.position
        let type = try payloadType()
        switch type {
        case .null, .int, .string, .objectId, .uuid, .globalKey: break
        default: throw reader.fault(.unknownType, "no type of a primary key", at: typeStart)
        }
        let column = PrimaryKeyColumn(field: field, type: type, isNullable: try reader.bool())
        return kind == 0 ? .topLevel(column) : .asymmetric(column)
    }

    private mutating func payloadType() throws(ChangesetError) -> PayloadType {
        let start = reader.position
        guard let type = PayloadType(rawValue: try reader.int64()) else {
            throw reader.fault(.unknownType, "an unknown type of value", at: start)
        }
        return type
    }

    private mutating func collectionType() throws(ChangesetError) -> CollectionType {
        let start = reader.position
        guard let type = CollectionType(rawValue: try reader.int64()) else {
            throw reader.fault(.unknownType, "an unknown type of collection", at: start)
        }
        return type
    }

    private mutating func column() throws(ChangesetError) -> Column {
        let start = reader.position
        let type = try payloadType()
        guard type.rawValue >= 0 else { throw reader.fault(.unknownType, "no type of a column", at: start) }
        var column = Column(type: type, isNullable: try reader.bool(), collection: try collectionType())
        if type == .link { column.target = try string() }
        if column.collection == .dictionary { column.keyType = try payloadType() }
        return column
    }

    private mutating func primaryKey() throws(ChangesetError) -> PrimaryKey {
        let start = reader.position
        switch PayloadType(rawValue: try reader.int64()) {
        case .null: return .null
        case .int: return .int(try reader.int64())
        case .string: return .string(try string())
        case .objectId: return .objectId(try objectId())
        case .uuid: return .uuid(try uuid())
        case .globalKey:
            let high = try reader.uint64()
            return .globalKey(high: high, low: try reader.uint64())
        default: throw reader.fault(.unknownType, "no type of a primary key", at: start)
        }
    }

    private mutating func objectId() throws(ChangesetError) -> ObjectId {
        let high = try reader.bigEndian(UInt64.self)
        return ObjectId(high: high, low: try reader.bigEndian(UInt32.self))
    }

    private mutating func uuid() throws(ChangesetError) -> UUIDBytes {
        let high = try reader.bigEndian(UInt64.self)
        return UUIDBytes(high: high, low: try reader.bigEndian(UInt64.self))
    }

    private mutating func path(_ table: InternString) throws(ChangesetError) -> Path {
        let key = try primaryKey()
        var path = Path(table: table, key: key, field: try string())
        let start = reader.position
        let count = try reader.uint32()
        guard count <= limits.pathElements else {
            throw reader.fault(
                .tooLarge, "a path has more than \(limits.pathElements) elements, the limit", at: start)
        }
        for _ in 0..<count {
            let start = reader.position
            let element = try reader.int64()
            if element == -1 {
                path.elements.append(.key(try string()))
            } else if let index = UInt32(exactly: element) {
                path.elements.append(.index(index))
            } else {
                throw reader.fault(.badPath, "a path's element is neither an index nor a key", at: start)
            }
        }
        return path
    }

    private mutating func edit(_ opcode: Opcode, _ path: Path) throws(ChangesetError) -> Edit {
        let isElement = path.elements.last?.index != nil
        switch opcode {
        case .update:
            let payload = try payload()
            return isElement
                ? .updateElement(payload, priorSize: try reader.uint32())
                : .update(payload, isDefault: try reader.bool())
        case .addInteger: return .addInteger(try reader.int64())
        case .clear: return .clear(try collectionType())
        case .setInsert: return .setInsert(try payload())
        case .setErase: return .setErase(try payload())
        default: break
        }
        guard isElement else { throw reader.fault(.badPath, "the path of an edit of a list doesn't end with an index") }
        switch opcode {
        case .arrayInsert:
            let payload = try payload()
            return .arrayInsert(payload, priorSize: try reader.uint32())
        case .arrayMove:
            let target = try reader.uint32()
            return .arrayMove(to: target, priorSize: try reader.uint32())
        default: return .arrayErase(priorSize: try reader.uint32())
        }
    }

    private mutating func payload() throws(ChangesetError) -> Payload {
        let start = reader.position
        switch try payloadType() {
        case .null: return .null
        case .int: return .int(try reader.int64())
        case .bool: return .bool(try reader.bool())
        case .string: return .string(strings.append(try reader.counted()))
        case .binary: return .binary(strings.append(try reader.counted()))
        case .timestamp: return .timestamp(try timestamp())
        case .float: return .float(Float(bitPattern: try reader.littleEndian(UInt32.self)))
        case .double: return .double(Double(bitPattern: try reader.littleEndian(UInt64.self)))
        case .decimal: return .decimal(try decimal())
        case .link:
            let table = try string()
            return .link(table: table, key: try primaryKey())
        case .objectId: return .objectId(try objectId())
        case .uuid: return .uuid(try uuid())
        case .objectValue: return .objectValue
        case .dictionary: return .dictionary
        case .list: return .list
        case .set: return .set
        case .erased: return .erased
        case .globalKey: throw reader.fault(.unknownType, "a key is no value", at: start)
        }
    }

    private mutating func timestamp() throws(ChangesetError) -> RealmTimestamp {
        let start = reader.position
        let seconds = try reader.int64(), nanoseconds = try reader.int32()
        guard nanoseconds.magnitude < 1_000_000_000,
            seconds == 0 || nanoseconds == 0 || (seconds < 0) == (nanoseconds < 0)
        else { throw reader.fault(.badValue, "a time's nanoseconds are outside of their range", at: start) }
        return RealmTimestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    private mutating func decimal() throws(ChangesetError) -> Decimal128 {
        let start = reader.position
        let coefficient = try reader.coefficient(), exponent = try reader.int64(), isNegative = try reader.bool()
        guard let decimal = Decimal128(realmCoefficient: coefficient, exponent: exponent, isNegative: isNegative) else {
            throw reader.fault(.badValue, "a decimal is outside of its range", at: start)
        }
        return decimal
    }
}

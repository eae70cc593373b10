import DocumentModel

extension Changeset {
    /// The changeset's bytes: all interned strings, then the instructions; nothing if there is no instruction.
    ///
    /// They equal what realm-core writes for the same table of strings and the same instructions.
    public func encoded() -> [UInt8] {
        guard !instructions.isEmpty else { return [] }
        var encoder = ChangesetEncoder(strings: strings)
        for index in strings.ranges.indices { encoder.internString(index) }
        for instruction in instructions { encoder.instruction(instruction) }
        return encoder.bytes
    }
}

/// Writes instructions.
struct ChangesetEncoder {
    private(set) var bytes: [UInt8] = []
    let strings: InternStrings

    init(strings: InternStrings) {
        self.strings = strings
        bytes.reserveCapacity(strings.buffer.count * 2 + 64)
    }

    /// A primary key by itself: with a string in place of its number.
    static func bytes(of key: PrimaryKey, _ strings: InternStrings) -> [UInt8] {
        var encoder = ChangesetEncoder(strings: strings)
        if case .string(let string) = key {
            encoder.type(.string)
            encoder.counted(strings.ranges[Int(string.index)])
        } else {
            encoder.primaryKey(key)
        }
        return encoder.bytes
    }

    mutating func internString(_ index: Int) {
        opcode(.internString)
        integer(UInt64(index))
        counted(strings.ranges[index])
    }

    /// - Parameter sign: 0x40 for a negative number, whose complement `magnitude` is.
    private mutating func integer(_ magnitude: UInt64, sign: UInt8 = 0) {
        var rest = magnitude
        while rest > 0x3F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest) | sign)
    }

    private mutating func signed(_ number: Int64) {
        if number < 0 { integer(UInt64(~number), sign: 0x40) } else { integer(UInt64(number)) }
    }

    private mutating func opcode(_ opcode: Opcode) { signed(opcode.rawValue) }
    private mutating func type(_ type: PayloadType) { signed(type.rawValue) }
    private mutating func string(_ string: InternString) { integer(UInt64(string.index)) }
    private mutating func bool(_ bool: Bool) { bytes.append(bool ? 1 : 0) }

    private mutating func counted(_ range: BufferRange) {
        integer(UInt64(range.count))
        bytes += strings.bytes(range)
    }

    private mutating func bigEndian(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    private mutating func littleEndian(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    mutating func instruction(_ instruction: Instruction) {
        switch instruction {
        case .addTable(let table, let kind):
            opcode(.addTable)
            string(table)
            tableKind(kind)
        case .eraseTable(let table):
            opcode(.eraseTable)
            string(table)
        case .addColumn(let table, let field, let column):
            opcode(.addColumn)
            string(table)
            string(field)
            self.column(column)
        case .eraseColumn(let table, let field):
            opcode(.eraseColumn)
            string(table)
            string(field)
        case .createObject(let table, let key):
            opcode(.createObject)
            string(table)
            primaryKey(key)
        case .eraseObject(let table, let key):
            opcode(.eraseObject)
            string(table)
            primaryKey(key)
        case .edit(let path, let edit): self.edit(path, edit)
        }
    }

    private mutating func tableKind(_ kind: TableKind) {
        let (number, key): (UInt64, PrimaryKeyColumn?) =
            switch kind {
            case .topLevel(let key): (0, key)
            case .embedded: (1, nil)
            case .asymmetric(let key): (2, key)
            }
        integer(number)
        guard let key else { return }
        string(key.field)
        type(key.type)
        bool(key.isNullable)
    }

    private mutating func column(_ column: Column) {
        type(column.type)
        bool(column.isNullable)
        signed(column.collection.rawValue)
        if let target = column.target { string(target) }
        if let keyType = column.keyType { type(keyType) }
    }

    private mutating func primaryKey(_ key: PrimaryKey) {
        switch key {
        case .null: type(.null)
        case .int(let number):
            type(.int)
            signed(number)
        case .string(let text):
            type(.string)
            string(text)
        case .objectId(let id):
            type(.objectId)
            objectId(id)
        case .uuid(let uuid):
            type(.uuid)
            self.uuid(uuid)
        case .globalKey(let high, let low):
            type(.globalKey)
            integer(high)
            integer(low)
        }
    }

    private mutating func objectId(_ id: ObjectId) {
        bigEndian(id.high)
        bigEndian(id.low)
    }

    private mutating func uuid(_ uuid: UUIDBytes) {
        bigEndian(uuid.high)
        bigEndian(uuid.low)
    }

    private mutating func path(_ code: Opcode, _ path: Path) {
        opcode(code)
        string(path.table)
        primaryKey(path.key)
        string(path.field)
        integer(UInt64(path.elements.count))
        for element in path.elements {
            switch element {
            case .index(let index): integer(UInt64(index))
            case .key(let key):
                signed(-1)
                string(key)
            }
        }
    }

    private mutating func edit(_ path: Path, _ edit: Edit) {
        switch edit {
        case .update(let value, let isDefault):
            self.path(.update, path)
            payload(value)
            bool(isDefault)
        case .updateElement(let value, let priorSize):
            self.path(.update, path)
            payload(value)
            integer(UInt64(priorSize))
        case .addInteger(let number):
            self.path(.addInteger, path)
            signed(number)
        case .arrayInsert(let value, let priorSize):
            self.path(.arrayInsert, path)
            payload(value)
            integer(UInt64(priorSize))
        case .arrayMove(let target, let priorSize):
            self.path(.arrayMove, path)
            integer(UInt64(target))
            integer(UInt64(priorSize))
        case .arrayErase(let priorSize):
            self.path(.arrayErase, path)
            integer(UInt64(priorSize))
        case .clear(let collection):
            self.path(.clear, path)
            signed(collection.rawValue)
        case .setInsert(let value):
            self.path(.setInsert, path)
            payload(value)
        case .setErase(let value):
            self.path(.setErase, path)
            payload(value)
        }
    }

    private mutating func payload(_ payload: Payload) {
        type(payload.type)
        switch payload {
        case .null, .objectValue, .dictionary, .list, .set, .erased: break
        case .int(let number): signed(number)
        case .bool(let flag): bool(flag)
        case .string(let range), .binary(let range): counted(range)
        case .timestamp(let time):
            signed(time.seconds)
            signed(Int64(time.nanoseconds))
        case .float(let number): littleEndian(number.bitPattern)
        case .double(let number): littleEndian(number.bitPattern)
        case .decimal(let decimal): self.decimal(decimal)
        case .link(let table, let key):
            string(table)
            primaryKey(key)
        case .objectId(let id): objectId(id)
        case .uuid(let uuid): self.uuid(uuid)
        }
    }

    private mutating func decimal(_ decimal: Decimal128) {
        var rest = decimal.realmCoefficient
        while rest > 0x3F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
        signed(decimal.realmExponent)
        bool(decimal.isNegative)
    }
}

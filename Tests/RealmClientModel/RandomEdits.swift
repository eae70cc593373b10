import DocumentModel
public import RealmSync

/// Changes of all kinds that a client makes at random: of some boxes, and of a counter.
///
/// There are no collections in mixed values: where one side replaces them by something else, realm-core diverges by itself
/// (RealmSync.md).
public struct RandomEdits: Sendable {
    /// The object with the counter `visits`, of the class `Person`.
    public let visits: ObjectKey
    /// The number of the first box.
    private let boxes: Int64
    private let count: Int64

    /// - Parameters:
    ///   - visits: The primary key of the counter.
    ///   - boxes: The number of the first box, and how many there may be.
    public init(visits: String, boxes: Int64, count: Int64 = 4) {
        self.visits = ObjectKey(table: "Person", id: .string(ExactText(visits)))
        self.boxes = boxes
        self.count = count
    }

    public func box(_ generator: inout some RandomNumberGenerator) -> ObjectKey {
        ObjectKey(table: "Box", id: .int(boxes + Int64.random(in: 0..<count, using: &generator)))
    }

    /// Makes a change.
    /// - Returns: what it adds to the counter.
    public func change(
        _ client: inout RealmClientModel, _ generator: inout some RandomNumberGenerator
    ) throws -> Int64 {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        func pick<T>(_ values: [T]) -> T { values[number(0..<values.count)] }
        client.advanceClock(by: UInt64(number(0..<2000)))
        let key = box(&generator)
        guard var object = client.objects.objects[key] else {
            try client.write([(key, ["li": [1, 2, 3], "si": [1], "di": ["a": 1]])])
            // Another client may have it, whose box is erased with it.
            if number(0..<3) == 0 { try client.write([(key, nil)]) }
            return 0
        }
        let list = object["li"]?.arrayValue ?? [], size = UInt32(list.count), n = Int64(number(0..<1000))
        let index = size > 0 ? UInt32(number(0..<list.count)) : 0
        var edit: (field: String, index: UInt32?, edit: Edit)?
        switch number(0..<12) {
        case 0:
            try client.write([(key, nil)])
            return 0
        case 1:
            try client.edit(visits, "visits", nil, .addInteger(n))
            return n
        case 2: edit = ("li", size, .arrayInsert(.int(n), priorSize: size))
        case 3: edit = ("li", 0, .arrayInsert(.int(n), priorSize: size))
        case 4 where size > 0: edit = ("li", index, .arrayErase(priorSize: size))
        case 5 where size > 1: edit = ("li", 0, .arrayMove(to: size - 1, priorSize: size))
        case 6 where size > 0: edit = ("li", index, .updateElement(.int(n), priorSize: size))
        case 7: edit = ("si", nil, .setInsert(.int(n % 5)))
        case 8: edit = ("si", nil, .setErase(.int(n % 5)))
        case 9: object["di"] = ["a": .int64(n), pick(["b", "c"]): .int64(n + 1)]
        case 10: object["m"] = pick([.int64(n), "text", .double(1.5), .null])
        default: object["ls"] = .array((object["ls"]?.arrayValue ?? []) + [pick([.string("s\(n)"), .null])])
        }
        if let edit {
            try client.edit(key, edit.field, edit.index, edit.edit)
        } else {
            try client.write([(key, object)])
        }
        return 0
    }
}

extension RealmClientModel {
    /// Edits a property of an object, or an element of its list.
    public mutating func edit(_ key: ObjectKey, _ field: String, _ index: UInt32?, _ edit: Edit) throws {
        var changeset = Changeset()
        func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
        var id = PrimaryKey.null
        switch key.id {
        case .int(let number): id = .int(number)
        case .string(let text): id = .string(name(text.text))
        default: break
        }
        let path = Path(
            table: name(key.table), key: id, field: name(field), elements: index.map { [.index($0)] } ?? [])
        changeset.instructions = [.edit(path, edit)]
        try apply(changeset)
    }
}

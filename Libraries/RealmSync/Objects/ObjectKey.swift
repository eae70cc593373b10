public import DocumentModel

/// An object of a partition.
public struct ObjectKey: Hashable, Sendable {
    /// The name of its class.
    @ExactText public var table: String
    /// What identifies it there.
    public var id: Id

    /// A primary key with its text; ``PrimaryKey`` has the number of a string in a changeset.
    public enum Id: Hashable, Sendable {
        case null
        case int(Int64)
        case string(ExactText)
        case objectId(ObjectId)
        case uuid(UUIDBytes)

        /// The type of the primary key's column.
        var type: PayloadType {
            switch self {
            case .null: .null
            case .int: .int
            case .string: .string
            case .objectId: .objectId
            case .uuid: .uuid
            }
        }
    }

    public init(table: String, id: Id) {
        self.table = table
        self.id = id
    }
}

extension ObjectKey.Id {
    /// The key as a document's `_id`.
    public var value: Value {
        switch self {
        case .null: .null
        case .int(let number): .int64(number)
        case .string(let text): .string(text.text)
        case .objectId(let id): .objectId(id)
        case .uuid(let uuid): .binary(uuid.binary)
        }
    }

    /// The key that a document's `_id` is; `nil` if it has another type. Whole numbers are integers, whatever their type.
    public init?(_ value: Value) {
        switch value {
        case .null: self = .null
        case .int32, .int64, .double:
            guard let number = value.int64Value else { return nil }
            self = .int(number)
        case .string(let text): self = .string(ExactText(text))
        case .objectId(let id): self = .objectId(id)
        case .binary(let binary):
            guard let uuid = UUIDBytes(binary) else { return nil }
            self = .uuid(uuid)
        default: return nil
        }
    }
}

extension UUIDBytes {
    /// A binary of subtype 4.
    var binary: Binary {
        Binary(
            [high, low].flatMap { half in
                (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * $0)) }
            }, subtype: 4)
    }

    /// - Returns: `nil` unless it is a binary of subtype 4 with 16 bytes.
    init?(_ binary: Binary) {
        guard binary.subtype == 4, binary.bytes.count == 16 else { return nil }
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: half(binary.bytes[..<8]), low: half(binary.bytes[8...]))
    }
}

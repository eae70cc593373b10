import DocumentModel

extension ObjectSchema.Property {
    var isMixed: Bool { type == .null }
}

extension ObjectSchema {
    /// What a property has in a new object.
    func initial(_ property: Property) -> Value {
        if let empty = property.collection.empty { return empty }
        if property.isNullable { return .null }
        switch property.type {
        case .int: return .int64(0)
        case .bool: return .bool(false)
        case .string: return .string("")
        case .binary: return .binary(Binary([]))
        case .timestamp: return .date(0)
        case .float, .double: return .double(0)
        case .decimal: return .decimal128(.zero)
        case .objectId: return .objectId(ObjectId(high: 0, low: 0))
        case .uuid: return .binary(UUIDBytes(high: 0, low: 0).binary)
        default: return .null
        }
    }
}

extension Decimal128 {
    /// 0 with the exponent 0, as realm-core initializes a property.
    fileprivate static let zero = Decimal128(high: 0x3040_0000_0000_0000, low: 0)
}

extension CollectionType {
    /// A collection without elements; `nil` of a single value.
    var empty: Value? {
        switch self {
        case .single: nil
        case .list, .set: .array([])
        case .dictionary: .document(Document())
        }
    }
}

extension Value {
    /// A link in a mixed property.
    static func mixedLink(_ key: ObjectKey) -> Value { ["$ref": .string(key.table), "$id": key.id.value] }

    /// The object to which it is a link in a mixed property; `nil` if it is something else.
    var mixedLink: ObjectKey? {
        guard case .document(let document) = self, document.count == 2, let table = document["$ref"]?.stringValue,
            let id = document["$id"].flatMap({ ObjectKey.Id($0) })
        else { return nil }
        return ObjectKey(table: table, id: id)
    }

    /// Whether it is a link in a mixed property, and not a dictionary.
    var isMixedLink: Bool { mixedLink != nil }
}

extension Document {
    /// Sets or removes a field of a document whose fields are in the order of their names' bytes, as those of objects are: then equal
    /// objects are identical.
    mutating func put(_ value: Value?, at name: String) {
        let (place, isThere) = place(of: name)
        if isThere {
            if let value { fields[place].value = value } else { fields.remove(at: place) }
        } else if let value {
            fields.insert(Field(name, value), at: place)
        }
    }

    /// Where a field is, or would be, in such a document.
    func place(of name: String) -> (index: Int, isThere: Bool) {
        let place = fields.partitioningIndex { ByteOrder.compare($0.key, name) >= 0 }
        return (place, place < fields.count && fields[place].key.hasSameBytes(as: name))
    }
}

extension Array {
    /// The first place from which on all elements satisfy a condition that none before it does.
    func partitioningIndex(where isAfter: (Element) -> Bool) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension RealmTimestamp {
    /// Milliseconds since 1970, rounded down; the nearest that there are if it is beyond them.
    public var milliseconds: Int64 {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let part = Int64((Double(nanoseconds) / 1_000_000).rounded(.down))
        let (sum, isBeyond) = whole.addingReportingOverflow(part)
        return overflow || isBeyond ? (seconds < 0 ? .min : .max) : sum
    }

    /// A point in time of whole milliseconds since 1970.
    public init(milliseconds: Int64) {
        // Both parts have the same sign.
        self.init(seconds: milliseconds / 1000, nanoseconds: Int32(milliseconds % 1000) * 1_000_000)
    }
}

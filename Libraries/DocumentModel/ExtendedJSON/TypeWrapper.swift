/// An object whose first key begins with `$`, which may be the text form of a BSON type. Supports all forms of Extended JSON v1 and
/// v2.
struct TypeWrapper {
    /// Names that are used only for types.
    static let names: Set<ExactText> = Set(
        [
            "$oid", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal", "$date", "$binary", "$uuid",
            "$timestamp", "$regularExpression", "$symbol", "$code", "$dbPointer", "$minKey", "$maxKey", "$undefined",
        ].map { ExactText($0) })

    let fields: [Document.Field]
    /// The offset at which the object begins.
    let offset: Int

    /// The value; `nil` if the object is a document (a query operator, a DBRef).
    func value() throws(ExtendedJSONError) -> Value? {
        guard let first = fields.first else { return nil }
        switch first.key {
        case "$oid": return try .objectId(objectId(only(first.value)))
        case "$numberInt": return try .int32(integer(first.value, Int32.self))
        case "$numberLong": return try .int64(integer(first.value, Int64.self))
        case "$numberDouble": return try .double(double(only(first.value)))
        case "$numberDecimal": return try .decimal128(decimal(only(first.value)))
        case "$date": return try .date(date(only(first.value)))
        case "$binary": return try .binary(binary(first.value))
        case "$type": return try reversedBinary()
        case "$uuid": return try .binary(uuid(only(first.value)))
        case "$timestamp": return try .timestamp(timestamp(only(first.value)))
        case "$regularExpression": return try .regex(regularExpression(only(first.value)))
        case "$regex", "$options": return queryRegularExpression()
        case "$symbol": return try .symbol(text(only(first.value)))
        case "$code", "$scope": return try code()
        case "$dbPointer": return try .dbPointer(dbPointer(only(first.value)))
        case "$minKey": return try marker(first.value, .minKey)
        case "$maxKey": return try marker(first.value, .maxKey)
        case "$undefined":
            guard try only(first.value).boolValue == true else { throw fault("$undefined") }
            return .undefined
        default: return nil
        }
    }

    private func fault(_ name: String) -> ExtendedJSONError {
        ExtendedJSONError(.badWrapper, at: offset, "\(name) has wrong contents")
    }

    private func only(_ value: Value) throws(ExtendedJSONError) -> Value {
        guard fields.count == 1 else { throw fault(fields[0].key) }
        return value
    }

    private func text(_ value: Value) throws(ExtendedJSONError) -> String {
        guard case .string(let text) = value else { throw fault(fields[0].key) }
        return text
    }

    private func objectId(_ value: Value) throws(ExtendedJSONError) -> ObjectId {
        guard let id = ObjectId(hexString: try text(value)) else { throw fault("$oid") }
        return id
    }

    private func integer<T: FixedWidthInteger>(_ value: Value, _ type: T.Type) throws(ExtendedJSONError) -> T {
        switch try only(value) {
        case .string(let text): if text.utf8.first != UInt8(ascii: "+"), let number = T(text) { return number }
        // Old exports have plain numbers here.
        case .int32(let number): if let number = T(exactly: number) { return number }
        case .int64(let number): if let number = T(exactly: number) { return number }
        default: break
        }
        throw fault(fields[0].key)
    }

    private func double(_ value: Value) throws(ExtendedJSONError) -> Double {
        switch value {
        case .double, .int32, .int64: if let number = value.doubleValue { return number }
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        case .string(let text):
            let isNumber = text.utf8.allSatisfy {
                $0 &- 0x30 < 10 || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E || $0 | 0x20 == 0x65
            }
            if isNumber, let number = Double(text), number.isFinite { return number }
        default: break
        }
        throw fault("$numberDouble")
    }

    private func decimal(_ value: Value) throws(ExtendedJSONError) -> Decimal128 {
        let text = try text(value)
        guard let number = Decimal128(text) ?? Decimal128(exactText: text) else { throw fault("$numberDecimal") }
        return number
    }

    private func date(_ value: Value) throws(ExtendedJSONError) -> Int64 {
        switch value {
        case .string(let text): if let milliseconds = ISODate.milliseconds(text) { return milliseconds }
        case .int64, .int32, .double: if let milliseconds = value.int64Value { return milliseconds }
        default: break
        }
        throw fault("$date")
    }

    private func bytes(_ value: Value) throws(ExtendedJSONError) -> [UInt8] {
        var text = try text(value)
        guard let bytes = text.withUTF8({ Base64.decode($0) }) else { throw fault("$binary") }
        return bytes
    }

    private func subtype(_ value: Value?) throws(ExtendedJSONError) -> UInt8 {
        switch value {
        case .string(var text):
            // v1 exports write bytes from 0x80 on as negative numbers, such as `ffffff80`.
            if text.utf8.count == 8, text.hasPrefix("ffffff") { text = String(text.suffix(2)) }
            if (1...2).contains(text.utf8.count), text.allSatisfy(\.isHexDigit), let subtype = UInt8(text, radix: 16) {
                return subtype
            }
        case .int32(let number): if let subtype = UInt8(exactly: number) { return subtype }
        default: break
        }
        throw fault("$binary")
    }

    private func binary(_ value: Value) throws(ExtendedJSONError) -> Binary {
        if case .document(let parts) = value {
            guard fields.count == 1, parts.count == 2, let base64 = parts["base64"], let subtype = parts["subType"]
            else { throw fault("$binary") }
            return Binary(try bytes(base64), subtype: try self.subtype(subtype))
        }
        guard fields.count == 2, fields[1].key == "$type" else { throw fault("$binary") }
        return Binary(try bytes(value), subtype: try subtype(fields[1].value))
    }

    private func reversedBinary() throws(ExtendedJSONError) -> Value? {
        // `$type` without `$binary` is a query operator.
        guard fields.count == 2, fields[1].key == "$binary" else { return nil }
        return .binary(Binary(try bytes(fields[1].value), subtype: try subtype(fields[0].value)))
    }

    private func uuid(_ value: Value) throws(ExtendedJSONError) -> Binary {
        guard let uuid = Binary(uuidString: try text(value)) else { throw fault("$uuid") }
        return uuid
    }

    private func timestamp(_ value: Value) throws(ExtendedJSONError) -> Timestamp {
        guard case .document(let parts) = value, parts.count == 2, let seconds = parts["t"]?.int64Value,
            let increment = parts["i"]?.int64Value,
            let seconds = UInt32(exactly: seconds), let increment = UInt32(exactly: increment)
        else { throw fault("$timestamp") }
        return Timestamp(seconds: seconds, increment: increment)
    }

    private func regularExpression(_ value: Value) throws(ExtendedJSONError) -> RegularExpression {
        guard case .document(let parts) = value, parts.count == 2, case .string(let pattern)? = parts["pattern"],
            case .string(let options)? = parts["options"], !pattern.utf8.contains(0), !options.utf8.contains(0)
        else { throw fault("$regularExpression") }
        return RegularExpression(pattern, options: String(options.sorted()))
    }

    /// `{"$regex": "...", "$options": "..."}` is v1's regular expression; anything else with `$regex` is a query operator.
    private func queryRegularExpression() -> Value? {
        let document = Document(fields: fields)
        guard fields.count == 2, case .string(let pattern)? = document["$regex"],
            case .string(let options)? = document["$options"],
            !pattern.utf8.contains(0), !options.utf8.contains(0)
        else { return nil }
        return .regex(RegularExpression(pattern, options: String(options.sorted())))
    }

    private func code() throws(ExtendedJSONError) -> Value? {
        let document = Document(fields: fields)
        guard let source = document["$code"] else { return nil }
        if fields.count == 1 { return .code(Code(try text(source))) }
        guard fields.count == 2, case .document(let scope)? = document["$scope"] else { throw fault("$code") }
        return .code(Code(try text(source), scope: scope))
    }

    private func dbPointer(_ value: Value) throws(ExtendedJSONError) -> DBPointer {
        guard case .document(let parts) = value, parts.count == 2, case .string(let namespace)? = parts["$ref"],
            case .objectId(let id)? = parts["$id"]
        else { throw fault("$dbPointer") }
        return DBPointer(namespace: namespace, id: id)
    }

    private func marker(_ value: Value, _ result: Value) throws(ExtendedJSONError) -> Value {
        guard try only(value).int64Value == 1 else { throw fault(fields[0].key) }
        return result
    }
}

/// Values as BSON.
extension ByteWriter {
    mutating func appendBSON(_ document: Document) {
        let start = count
        append(fixed: Int32(0))
        for field in document.fields {
            append(field.value.typeCode)
            appendCString(field.key)
            appendBSON(field.value)
        }
        append(UInt8(0))
        patch(Int32(truncatingIfNeeded: count - start), at: start)
    }

    private mutating func appendBSON(_ elements: [Value]) {
        let start = count
        append(fixed: Int32(0))
        for (index, element) in elements.enumerated() {
            append(element.typeCode)
            append(Int64(index))
            append(UInt8(0))
            appendBSON(element)
        }
        append(UInt8(0))
        patch(Int32(truncatingIfNeeded: count - start), at: start)
    }

    private mutating func append<T: FixedWidthInteger>(fixed value: T) {
        withUnsafeBytes(of: value.littleEndian) { bytes in
            append(count: bytes.count) { output in
                UnsafeMutableRawPointer(output).copyMemory(
                    from: bytes.baseAddress ?? .init(output), byteCount: bytes.count)
            }
        }
    }

    /// Appends a name, which can't contain a zero byte, since the first zero byte ends it.
    private mutating func appendCString(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            if bytes.contains(0) { hasBrokenName = true }
            append(bytes)
        }
        append(UInt8(0))
    }

    private mutating func appendString(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            append(fixed: Int32(truncatingIfNeeded: bytes.count + 1))
            append(bytes)
        }
        append(UInt8(0))
    }

    private mutating func append(id: ObjectId) {
        append(fixed: id.high.byteSwapped)
        append(fixed: id.low.byteSwapped)
    }

    private mutating func appendBSON(_ value: Value) {
        switch value {
        case .null, .undefined, .minKey, .maxKey: break
        case .bool(let flag): append(UInt8(flag ? 1 : 0))
        case .int32(let number): append(fixed: number)
        case .int64(let number), .date(let number): append(fixed: number)
        case .double(let number): append(fixed: number.bitPattern)
        case .string(let text), .symbol(let text): appendString(text)
        case .document(let document): appendBSON(document)
        case .array(let elements): appendBSON(elements)
        case .objectId(let id): append(id: id)
        case .binary(let binary):
            let isOld = binary.subtype == 2
            append(fixed: Int32(truncatingIfNeeded: binary.bytes.count + (isOld ? 4 : 0)))
            append(binary.subtype)
            if isOld { append(fixed: Int32(truncatingIfNeeded: binary.bytes.count)) }
            binary.bytes.withUnsafeBufferPointer { append($0) }
        case .decimal128(let number):
            append(fixed: number.low)
            append(fixed: number.high)
        case .regex(let expression):
            appendCString(expression.pattern)
            appendCString(expression.options)
        case .timestamp(let time):
            append(fixed: time.increment)
            append(fixed: time.seconds)
        case .code(let code):
            guard let scope = code.scope else { appendString(code.source); return }
            let start = count
            append(fixed: Int32(0))
            appendString(code.source)
            appendBSON(scope)
            patch(Int32(truncatingIfNeeded: count - start), at: start)
        case .dbPointer(let pointer):
            appendString(pointer.namespace)
            append(id: pointer.id)
        }
    }
}

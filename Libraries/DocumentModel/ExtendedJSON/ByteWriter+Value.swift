import Texts

/// Values as Extended JSON.
extension ByteWriter {
    mutating func append(_ document: Document, mode: ExtendedJSON.Mode) {
        append(UInt8(ascii: "{"))
        for index in document.fields.indices {
            if index > 0 { append(UInt8(ascii: ",")) }
            appendQuoted(document.fields[index].key)
            append(UInt8(ascii: ":"))
            append(document.fields[index].value, mode: mode)
        }
        append(UInt8(ascii: "}"))
    }

    mutating func append(_ value: Value, mode: ExtendedJSON.Mode) {
        switch value {
        case .null: append("null")
        case .bool(let flag): if flag { append("true") } else { append("false") }
        case .int32(let number): appendInteger(Int64(number), wrapper: "{\"$numberInt\":\"", mode: mode)
        case .int64(let number): appendInteger(number, wrapper: "{\"$numberLong\":\"", mode: mode)
        case .double(let number): append(number, mode: mode)
        case .string(let text): appendQuoted(text)
        case .document(let document): append(document, mode: mode)
        case .array(let elements):
            append(UInt8(ascii: "["))
            for index in elements.indices {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(elements[index], mode: mode)
            }
            append(UInt8(ascii: "]"))
        case .objectId(let id):
            append("{\"$oid\":\"")
            append(id)
            append("\"}")
        case .date(let milliseconds): append(date: milliseconds, mode: mode)
        default: appendRare(value, mode: mode)
        }
    }

    private mutating func appendInteger(_ number: Int64, wrapper: StaticString, mode: ExtendedJSON.Mode) {
        if mode == .relaxed { append(number); return }
        append(wrapper)
        append(number)
        append("\"}")
    }

    private mutating func append(_ number: Double, mode: ExtendedJSON.Mode) {
        if mode == .relaxed, number.isFinite { appendText(of: number); return }
        append("{\"$numberDouble\":\"")
        if number.isFinite {
            // Stored texts keep the form in which they have always been written.
            appendText(of: number, exponent: mode == .exact ? "e" : "E")
        } else if number.isNaN {
            append("NaN")
        } else if number < 0 {
            append("-Infinity")
        } else {
            append("Infinity")
        }
        append("\"}")
    }

    private mutating func appendText(of number: Double, exponent: Character = "E") {
        // Most numbers are whole or have few decimals, and an integer is printed ten times as fast.
        if let whole = Int32(exactly: number), whole != 0 || number.sign == .plus {
            append(Int64(whole))
            append(".0")
            return
        }
        let text = number.description
        append(exponent == "E" && text.utf8.contains(UInt8(ascii: "e")) ? text.uppercased() : text)
    }

    private mutating func append(date milliseconds: Int64, mode: ExtendedJSON.Mode) {
        // 253402300800000 is the first millisecond of the year 10000.
        if mode == .relaxed, milliseconds >= 0, milliseconds < 253_402_300_800_000 {
            append("{\"$date\":\"")
            appendISODate(milliseconds)
            append("\"}")
            return
        }
        append("{\"$date\":{\"$numberLong\":\"")
        append(milliseconds)
        append("\"}}")
    }

    private mutating func append(_ id: ObjectId) {
        append(count: 24) { output in
            for index in 0..<16 {
                output[index] = Hex.digit(UInt8(truncatingIfNeeded: id.high >> UInt64(60 &- 4 &* index)) & 15)
            }
            for index in 0..<8 {
                output[16 &+ index] = Hex.digit(UInt8(truncatingIfNeeded: id.low >> UInt32(28 &- 4 &* index)) & 15)
            }
        }
    }

    @inline(never)
    private mutating func appendRare(_ value: Value, mode: ExtendedJSON.Mode) {
        switch value {
        case .binary(let binary):
            append("{\"$binary\":{\"base64\":\"")
            binary.bytes.withUnsafeBufferPointer { bytes in
                append(count: Base64.length(of: bytes.count)) { Base64.encode(bytes, to: $0) }
            }
            append("\",\"subType\":\"")
            append(Hex.digit(binary.subtype >> 4))
            append(Hex.digit(binary.subtype & 15))
            append("\"}}")
        case .decimal128(let number):
            append("{\"$numberDecimal\":\"")
            append(mode == .exact ? number.exactText : number.description)
            append("\"}")
        case .regex(let expression):
            append("{\"$regularExpression\":{\"pattern\":")
            appendQuoted(expression.pattern)
            append(",\"options\":")
            appendQuoted(expression.options)
            append("}}")
        case .timestamp(let time):
            append("{\"$timestamp\":{\"t\":")
            append(Int64(time.seconds))
            append(",\"i\":")
            append(Int64(time.increment))
            append("}}")
        case .minKey: append("{\"$minKey\":1}")
        case .maxKey: append("{\"$maxKey\":1}")
        case .undefined: append("{\"$undefined\":true}")
        case .symbol(let text):
            append("{\"$symbol\":")
            appendQuoted(text)
            append(UInt8(ascii: "}"))
        case .code(let code):
            append("{\"$code\":")
            appendQuoted(code.source)
            if let scope = code.scope {
                append(",\"$scope\":")
                append(scope, mode: mode)
            }
            append(UInt8(ascii: "}"))
        case .dbPointer(let pointer):
            append("{\"$dbPointer\":{\"$ref\":")
            appendQuoted(pointer.namespace)
            append(",\"$id\":{\"$oid\":\"")
            append(pointer.id)
            append("\"}}}")
        default: append(value, mode: mode)
        }
    }

    /// Appends a string with its quotes; only characters that JSON requires to be escaped are escaped.
    mutating func appendQuoted(_ text: String) {
        var text = text
        text.withUTF8 { appendQuoted($0) }
    }

    private mutating func appendQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        append(UInt8(ascii: "\""))
        var start = 0
        let end = text.count
        if let base = text.baseAddress {
            while true {
                let stop = JSONText.endOfPlain(base, from: start, to: end)
                append(UnsafeBufferPointer(start: base + start, count: stop &- start))
                if stop == end { break }
                appendEscape(of: base[stop])
                start = stop &+ 1
            }
        }
        append(UInt8(ascii: "\""))
    }

    @inline(never)
    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        default:
            append("\\u00")
            append(Hex.digit(byte >> 4))
            append(Hex.digit(byte & 15))
        }
    }
}

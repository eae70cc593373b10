/// Validation of a text without building values.
extension JSONParser {
    mutating func validate() throws(ExtendedJSONError) {
        try skipValue(depth: 0)
        try finish()
    }

    private mutating func skipValue(depth: Int) throws(ExtendedJSONError) {
        switch try next() {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "{"): try skipContainer(depth: depth + 1, close: UInt8(ascii: "}"))
        case UInt8(ascii: "["): try skipContainer(depth: depth + 1, close: UInt8(ascii: "]"))
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try scanNumber()
        default: throw fault(.unexpectedByte, "no value begins with this byte")
        }
    }

    private mutating func skipContainer(depth: Int, close: UInt8) throws(ExtendedJSONError) {
        // Type wrappers have up to two levels that don't count as levels of the document.
        if depth > limits.maximumDepth + 2 { try check(depth: depth) }
        position &+= 1
        if try next() == close { position &+= 1; return }
        while true {
            if close == UInt8(ascii: "}") {
                guard try next() == UInt8(ascii: "\"") else { throw fault(.unexpectedByte, "a key was expected") }
                try skipString()
                guard try next() == UInt8(ascii: ":") else { throw fault(.unexpectedByte, "a colon was expected") }
                position &+= 1
            }
            try skipValue(depth: depth)
            let byte = try next()
            guard byte == UInt8(ascii: ",") || byte == close else {
                throw fault(.unexpectedByte, "a comma or an end was expected")
            }
            position &+= 1
            if byte == close { return }
        }
    }

    private mutating func skipString() throws(ExtendedJSONError) {
        let start = position &+ 1
        let stop = JSONText.endOfPlain(base, from: start, to: end)
        guard stop < end, base[stop] == UInt8(ascii: "\""), UTF8Check.isASCII(base + start, stop &- start) else {
            _ = try string()
            return
        }
        position = stop &+ 1
    }
}

import DocumentModel

/// Reads the JSON of an export, which people have edited: commas before closing brackets and a byte order mark are passed over.
enum ConfigText {
    /// - Returns: the value, and the offsets in bytes of the commas that were passed over.
    static func parse(_ text: String) throws(ExtendedJSONError) -> (value: Value, trailingCommas: [Int]) {
        var bytes = Array(text.utf8)
        // The same length, so that places in the text stay what they are.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.replaceSubrange(0..<3, with: Array("   ".utf8)) }
        do throws(ExtendedJSONError) {
            return (try ExtendedJSON.parse(bytes, limits: .input), [])
        } catch {
            let commas = trailingCommas(in: bytes)
            guard !commas.isEmpty else { throw error }
            for offset in commas { bytes[offset] = UInt8(ascii: " ") }
            return (try ExtendedJSON.parse(bytes, limits: .input), commas)
        }
    }

    /// A value as exports have it: a line for each field and element, indented by four spaces.
    static func print(_ value: Value) -> String { print(value, indent: "") + "\n" }

    private static func print(_ value: Value, indent: String) -> String {
        let inner = indent + "    "
        func lines(_ parts: [String], _ open: String, _ close: String) -> String {
            "\(open)\n" + parts.map { inner + $0 }.joined(separator: ",\n") + "\n\(indent)\(close)"
        }
        switch value {
        case .document(let document) where !document.fields.isEmpty:
            return lines(
                document.fields.map {
                    "\(ExtendedJSON.print(.string($0.key))): \(print($0.value, indent: inner))"
                }, "{", "}")
        case .array(let elements) where !elements.isEmpty:
            return lines(elements.map { print($0, indent: inner) }, "[", "]")
        default: return ExtendedJSON.print(value, mode: .relaxed)
        }
    }

    /// The commas outside of strings that only white space separates from a closing bracket, and that follow a value.
    private static func trailingCommas(in bytes: [UInt8]) -> [Int] {
        var found: [Int] = []
        /// The last byte that isn't white space, and the one before it, outside of strings.
        var last: (offset: Int, byte: UInt8)?
        var beforeLast: UInt8?
        var isString = false
        var isEscaped = false
        for (offset, byte) in bytes.enumerated() {
            if isString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if let last, last.byte == UInt8(ascii: ","), let beforeLast,
                    !Array("[{,:".utf8).contains(beforeLast)
                {
                    found.append(last.offset)
                }
            default: break
            }
            beforeLast = last?.byte
            last = (offset, byte)
        }
        return found
    }
}

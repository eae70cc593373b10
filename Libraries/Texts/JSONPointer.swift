/// JSON pointers (RFC 6901), and the line in a text to which one points.
package enum JSONPointer {
    package static func escape(_ key: String) -> String {
        guard key.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return key }
        // By scalars, because a character may be a slash with a combining mark.
        return key.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "~": result += "~0"
            case "/": result += "~1"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    package static func unescape(_ token: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in token {
            if isEscaped {
                result.append(character == "1" ? "/" : "~")
                isEscaped = false
            } else if character == "~" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        return result
    }

    package static func parent(_ pointer: String) -> String {
        pointer.lastIndex(of: "/").map { String(pointer[..<$0]) } ?? ""
    }

    /// The line (from 1) of an offset in a text.
    package static func line(atOffset offset: Int, in text: String) -> Int {
        text.utf8.prefix(max(0, offset)).reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
    }

    /// The line (from 1) on which the value of a pointer begins, or that of its nearest existing ancestor. The text must be valid
    /// JSON.
    package static func line(of pointer: String, in text: String) -> Int {
        var finder = JSONPlaceFinder(text: text)
        let tokens = pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(unescape)
        return line(atOffset: finder.offset(of: tokens), in: text)
    }
}

/// Scans valid JSON text for the position of a pointer, without building values.
private struct JSONPlaceFinder {
    private let bytes: [UInt8]
    private var position = 0

    init(text: String) { bytes = Array(text.utf8) }

    private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func offset(of tokens: [String]) -> Int {
        skipSpace()
        for token in tokens {
            let found = current == UInt8(ascii: "{") ? enterObject(token) : enterArray(token)
            if !found { break }
        }
        return min(position, bytes.count)
    }

    /// Moves to the value of a key. If the key doesn't exist, the position stays at the object.
    private mutating func enterObject(_ key: String) -> Bool {
        let start = position
        position += 1
        while position < bytes.count {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { break }
            let keyStart = position
            let name = string()
            skipSpace()
            position += 1  // colon
            skipSpace()
            if name.hasSameBytes(as: key) {
                // If the value is on a later line, use the line of the key, which is where a reader looks.
                if line(keyStart) != line(position) { position = keyStart }
                return true
            }
            skipValue()
            skipSpace()
            guard current == UInt8(ascii: ",") else { break }
            position += 1
        }
        position = start
        return false
    }

    private mutating func enterArray(_ token: String) -> Bool {
        guard current == UInt8(ascii: "["), let index = Int(token) else { return false }
        let start = position
        position += 1
        skipSpace()
        for _ in 0..<index where position < bytes.count {
            skipValue()
            skipSpace()
            guard current == UInt8(ascii: ",") else {
                position = start
                return false
            }
            position += 1
            skipSpace()
        }
        return true
    }

    private func line(_ offset: Int) -> Int { bytes[..<offset].reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    private mutating func string() -> String {
        let start = position + 1
        skipString()
        return String(decoding: bytes[start..<max(start, min(position - 1, bytes.count))], as: UTF8.self)
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
    }

    private mutating func skipValue() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
                position += 1
            case UInt8(ascii: ",") where depth == 0: return
            default: position += 1
            }
            if depth == 0, position < bytes.count {
                let next = bytes[position]
                if next == UInt8(ascii: ",") || next == UInt8(ascii: "}") || next == UInt8(ascii: "]") { return }
            }
        }
    }
}

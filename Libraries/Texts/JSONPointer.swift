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

    /// The lines (from 1) of offsets in a text, in one pass.
    package static func lines(atOffsets offsets: [Int], in text: String) -> [Int] {
        var lines = [Int](repeating: 1, count: offsets.count)
        var order = offsets.indices.sorted { offsets[$0] < offsets[$1] }[...]
        var line = 1
        for (offset, byte) in text.utf8.enumerated() {
            while let first = order.first, offsets[first] <= offset { lines[order.removeFirst()] = line }
            if order.isEmpty { break }
            if byte == UInt8(ascii: "\n") { line += 1 }
        }
        for rest in order { lines[rest] = line }
        return lines
    }

    /// The lines (from 1) on which the values of pointers begin, or those of their nearest existing ancestors, in one pass. The text must be
    /// valid JSON.
    package static func lines(of pointers: [String], in text: String) -> [Int] {
        var finder = JSONPlaceFinder(text: text)
        let nodes = pointers.map { pointer in
            finder.add(pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(unescape))
        }
        finder.find()
        return lines(atOffsets: nodes.map { finder.offset(of: $0) }, in: text)
    }
}

/// Scans valid JSON text for the positions of pointers, without building values.
private struct JSONPlaceFinder {
    /// A place to which a pointer leads, or through which it does.
    private struct Node {
        let parent: Int
        var children: [ExactText: Int] = [:]
        /// Where the value begins, or its key.
        var offset: Int?
    }

    private let bytes: [UInt8]
    private var position = 0
    /// The root first.
    private var nodes = [Node(parent: 0, offset: 0)]

    init(text: String) { bytes = Array(text.utf8) }

    /// Adds a pointer to those that are looked for.
    /// - Returns: its place for `offset(of:)`.
    mutating func add(_ tokens: [String]) -> Int {
        var node = 0
        for token in tokens {
            if let child = nodes[node].children[token] {
                node = child
            } else {
                nodes.append(Node(parent: node))
                nodes[node].children[token] = nodes.count - 1
                node = nodes.count - 1
            }
        }
        return node
    }

    mutating func find() {
        skipSpace()
        nodes[0].offset = position
        visit(0)
    }

    func offset(of node: Int) -> Int {
        var node = node
        while true {
            if let offset = nodes[node].offset { return min(offset, bytes.count) }
            node = nodes[node].parent
        }
    }

    private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    /// Notes the places inside of a value, and moves behind it.
    private mutating func visit(_ node: Int) {
        switch current {
        case _ where nodes[node].children.isEmpty: skipValue()
        case UInt8(ascii: "{"): visitObject(node)
        case UInt8(ascii: "["): visitArray(node)
        default: skipValue()
        }
    }

    private mutating func visitObject(_ node: Int) {
        position += 1
        while position < bytes.count {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { break }
            let keyStart = position
            let name = string()
            skipSpace()
            position += 1  // colon
            skipSpace()
            if let child = nodes[node].children[name], nodes[child].offset == nil {
                // If the value is on a later line, use the line of the key, which is where a reader looks.
                let isLater = bytes[keyStart..<min(position, bytes.count)].contains(UInt8(ascii: "\n"))
                nodes[child].offset = isLater ? keyStart : position
                visit(child)
            } else {
                skipValue()
            }
            skipSpace()
            guard current == UInt8(ascii: ",") else { break }
            position += 1
        }
        if current == UInt8(ascii: "}") { position += 1 }
    }

    private mutating func visitArray(_ node: Int) {
        let children = Dictionary(
            nodes[node].children.compactMap { token, child in Int(token.text).map { ($0, child) } },
            uniquingKeysWith: { first, _ in first })
        var index = 0
        position += 1
        skipSpace()
        while position < bytes.count, current != UInt8(ascii: "]") {
            if let child = children[index] {
                nodes[child].offset = position
                visit(child)
            } else {
                skipValue()
            }
            skipSpace()
            guard current == UInt8(ascii: ",") else { break }
            position += 1
            skipSpace()
            index += 1
        }
        if current == UInt8(ascii: "]") { position += 1 }
    }

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

import DocumentModel

/// An element of AWS' answers in XML: elements and text. Attributes, comments and declarations are passed over, and there are no
/// entities but the five of XML and numbers, so that a small text can't become a large one.
struct XMLElement {
    private static let maximumDepth = 64

    let name: String
    /// The text between its children, as it is.
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    /// The root element; `nil` when the bytes aren't such a text.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes)
        guard let root = reader.root() else { return nil }
        self = root
    }

    private init(name: String) { self.name = name }

    func child(_ name: String) -> XMLElement? { children.first { $0.name.hasSameBytes(as: name) } }

    /// As a value: text, a list of the elements `member`, or a document, in which elements of one name are a list.
    var value: Value {
        guard !children.isEmpty else { return .string(text) }
        if children.allSatisfy({ $0.name == "member" }) { return .array(children.map(\.value)) }
        var document = Document()
        var counts: [ExactText: Int] = [:]
        for child in children { counts[child.name, default: 0] += 1 }
        for child in children {
            if counts[ExactText(child.name)] == 1 {
                document[child.name] = child.value
            } else {
                document[child.name] = .array((document[child.name]?.arrayValue ?? []) + [child.value])
            }
        }
        return .document(document)
    }

    /// Reads a text once, from its beginning to its end.
    private struct Reader {
        let bytes: [UInt8]
        var place = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func root() -> XMLElement? {
            if starts("\u{FEFF}") { place += 3 }
            while place < bytes.count {
                if starts("<?") || starts("<!") {
                    guard skipMarkup() else { return nil }
                } else if bytes[place] == UInt8(ascii: "<") {
                    return element(depth: 0)
                } else {
                    guard " \t\r\n".utf8.contains(bytes[place]) else { return nil }
                    place += 1
                }
            }
            return nil
        }

        private func starts(_ text: String) -> Bool { bytes[place...].starts(with: text.utf8) }

        /// Moves behind the next occurrence of a text, and returns what is before it.
        private mutating func read(to text: String) -> ArraySlice<UInt8>? {
            guard let range = bytes[place...].firstRange(of: Array(text.utf8)) else { return nil }
            defer { place = range.upperBound }
            return bytes[place..<range.lowerBound]
        }

        /// Moves behind a comment, a declaration or an instruction.
        private mutating func skipMarkup() -> Bool { read(to: starts("<!--") ? "-->" : ">") != nil }

        private mutating func element(depth: Int) -> XMLElement? {
            guard depth < XMLElement.maximumDepth, let tag = read(to: ">")?.dropFirst() else { return nil }
            let name = tag.prefix { !" \t\r\n/".utf8.contains($0) }
            var element = XMLElement(name: String(decoding: name, as: UTF8.self))
            if tag.last == UInt8(ascii: "/") { return element }
            while place < bytes.count {
                if starts("</") {
                    guard let end = read(to: ">") else { return nil }
                    let closed = end.dropFirst(2).prefix { !" \t\r\n".utf8.contains($0) }
                    return closed.elementsEqual(name) ? element : nil
                } else if starts("<![CDATA[") {
                    place += 9
                    guard let text = read(to: "]]>") else { return nil }
                    element.text += String(decoding: text, as: UTF8.self)
                } else if starts("<!") || starts("<?") {
                    guard skipMarkup() else { return nil }
                } else if bytes[place] == UInt8(ascii: "<") {
                    guard let child = self.element(depth: depth + 1) else { return nil }
                    element.children.append(child)
                } else {
                    let end = bytes[place...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
                    element.text += Self.unescaped(bytes[place..<end])
                    place = end
                }
            }
            return nil
        }

        private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

        private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
            return text.replacing(/&(#x[0-9A-Fa-f]+|#[0-9]+|[a-z]+);/) { match in
                let name = match.1
                if let known = entities[String(name)] { return known }
                let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
                return number.flatMap(Unicode.Scalar.init).map { String(Character($0)) } ?? String(match.0)
            }
        }
    }
}

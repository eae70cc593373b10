/// Header fields in order. Names are compared case-insensitively.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral, Sequence {
    /// One field.
    public typealias Element = (name: String, value: String)

    private var fields: [Element]

    /// Creates headers from a literal, in which a name may occur more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }

    /// Creates headers from pairs of names and values.
    public init(_ fields: [(String, String)] = []) { self.fields = fields.map { (name: $0.0, value: $0.1) } }

    /// The number of fields.
    public var count: Int { fields.count }

    /// The fields in order.
    public func makeIterator() -> IndexingIterator<[Element]> { fields.makeIterator() }

    /// Adds a field, even if there is already one of the name.
    public mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

    /// The values of all fields of that name, joined by commas. Setting it replaces them with one; `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            guard let first = fields.firstIndex(where: { Self.isSame($0.name, name) }) else { return nil }
            var value = fields[first].value
            for field in fields[(first + 1)...] where Self.isSame(field.name, name) { value += ", " + field.value }
            return value
        }
        set {
            fields.removeAll { Self.isSame($0.name, name) }
            if let newValue { fields.append((name, newValue)) }
        }
    }

    /// The number of fields with that name.
    public func count(of name: String) -> Int { fields.count { Self.isSame($0.name, name) } }

    /// Whether a comma-separated field has a member, compared case-insensitively.
    public func contains(_ name: String, _ token: String) -> Bool {
        guard let value = self[name] else { return false }
        return value.split(separator: ",").contains { member in
            let trimmed = member.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
            return Self.isSame(trimmed, token)
        }
    }

    /// Whether a field may have this name and value: a token, and text without line breaks and other control characters (RFC 9110, section
    /// 5.5 and 5.6.2).
    public static func isField(name: String, value: String) -> Bool { isField(name.utf8, value.utf8) }

    static func isField(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>) -> Bool {
        !name.isEmpty && name.allSatisfy(isTokenByte) && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func isSame(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        let left = left.utf8, right = right.utf8
        return left.count == right.count && left.elementsEqual(right) { lowered($0) == lowered($1) }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

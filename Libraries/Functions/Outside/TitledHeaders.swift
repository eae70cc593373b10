public import DocumentModel

extension Document {
    /// Header fields as functions see them: names such as `Content-Type`, in whatever case the other side has sent them (with HTTP/2 in
    /// lower case), as App Services gave them, each with an array of its values.
    public init(titledHeaders headers: some Sequence<(name: String, value: String)>) {
        var names: [String] = []
        var values: [ExactText: [Value]] = [:]
        for header in headers {
            let name = Self.title(header.name)
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(.string(header.value))
        }
        self.init(fields: names.map { .init($0, .array(values[$0] ?? [])) })
    }

    /// A name as Go's `CanonicalMIMEHeaderKey` writes it.
    private static func title(_ name: String) -> String {
        var isFirst = true
        let bytes = name.utf8.map { byte in
            defer { isFirst = byte == UInt8(ascii: "-") }
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z") where isFirst: return byte - 0x20
            case UInt8(ascii: "A")...UInt8(ascii: "Z") where !isFirst: return byte + 0x20
            default: return byte
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Collects the header lines of a response, of which libcurl hands over one per call. Those of interim answers and of
/// redirects that are followed are replaced by the next.
struct HTTPResponseHead {
    /// What all header lines together may have, in bytes.
    static let limit = 256 << 10

    private(set) var headers: [HTTPClient.Header] = []
    private var size = 0

    /// - Returns: Whether the limit holds.
    mutating func append(_ line: some Collection<UInt8>) -> Bool {
        size += line.count
        if size > Self.limit { return false }
        if line.starts(with: "HTTP/".utf8), line.first(where: { $0 == UInt8(ascii: ":") }) == nil {
            headers.removeAll()
            size = line.count
            return true
        }
        // Without a colon it is the empty line at the end, or nothing that anybody could use.
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let value = String(decoding: line[line.index(after: colon)...], as: UTF8.self)
        headers.append(
            HTTPClient.Header(String(decoding: line[..<colon], as: UTF8.self), trimmed(value)))
        return true
    }

    private func trimmed(_ text: String) -> String {
        let isBlank = { (character: Unicode.Scalar) in [" ", "\t", "\r", "\n"].contains(character) }
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !isBlank($0) }),
            let last = scalars.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(scalars[first...last])
    }
}

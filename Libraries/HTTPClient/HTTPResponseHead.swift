/// Collects the header lines of a response, of which libcurl passes one per call. The lines of interim responses and of followed
/// redirects are replaced by those of the next response.
struct HTTPResponseHead {
    /// The maximum total size of all header lines in bytes.
    static let limit = 256 << 10

    private(set) var headers: [HTTPClient.Header] = []
    private var size = 0

    /// - Returns: `false` when the limit is exceeded.
    mutating func append(_ line: some Collection<UInt8>) -> Bool {
        size += line.count
        if size > Self.limit { return false }
        if line.starts(with: "HTTP/".utf8), line.first(where: { $0 == UInt8(ascii: ":") }) == nil {
            headers.removeAll()
            size = line.count
            return true
        }
        // A line without a colon is the empty line at the end, or unusable.
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

/// The proxies that are trusted to report where a request comes from.
///
/// Each proxy appends the address of its caller to `X-Forwarded-For`. So the list is read from its end, as long as the authors of
/// its elements are trusted: elements that a client wrote itself precede the one of the first trusted proxy, and aren't reached.
/// `X-Forwarded-Proto` is read in the same way; if a proxy overwrites it, there is only that proxy's value, which is used.
public struct TrustedProxies: Hashable, Sendable {
    /// The addresses of trusted proxies; `nil` for any address.
    private let ranges: [AddressRange]?
    /// The maximum number of proxies that a request passes.
    private let count: Int

    /// No proxy is trusted: the address of the connection's peer is the client's.
    public static let none = TrustedProxies(ranges: [], count: 0)

    private static let words = [
        "loopback": ["127.0.0.0/8", "::1"],
        "private": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"],
    ]

    private init(ranges: [AddressRange]?, count: Int) {
        self.ranges = ranges
        self.count = count
    }

    /// Parses a list, separated by commas: addresses, ranges (`10.0.0.0/8`), `loopback`, `private`, and at most one number from 1
    /// to 16, the maximum number of trusted proxies. A number alone trusts every peer.
    ///
    /// - Returns: `nil` for any other text.
    public init?(_ text: String) {
        var ranges: [AddressRange] = [], count: Int?
        for element in Self.elements(text) {
            if let number = Int(element) {
                guard count == nil, (1...16).contains(number) else { return nil }
                count = number
                continue
            }
            for text in Self.words[String(element)] ?? [String(element)] {
                guard let range = AddressRange(text) else { return nil }
                ranges.append(range)
            }
        }
        self.init(ranges: ranges.isEmpty && count != nil ? nil : ranges, count: count ?? (ranges.isEmpty ? 0 : .max))
    }

    /// The client's address, and the scheme of its request: `http` or `https`.
    func origin(peer: RemoteAddress, headers: HTTPHeaders) -> (address: RemoteAddress, scheme: String) {
        guard count > 0, trusts(peer) else { return (peer, "http") }
        var address = peer, passed = 0
        // Here `address` is that of a proxy, which reports its caller.
        for element in Self.elements(headers["x-forwarded-for"] ?? "").reversed() {
            guard passed < count, trusts(address), let caller = RemoteAddress(text: element) else { break }
            address = caller
            passed += 1
        }
        let schemes = Self.elements(headers["x-forwarded-proto"] ?? "")
        // The value of the last trusted proxy, or of the one nearest to it.
        let scheme = schemes.isEmpty ? "" : schemes[max(0, schemes.count - max(passed, 1))]
        return (address, scheme.lowercased() == "https" ? "https" : "http")
    }

    private func trusts(_ address: RemoteAddress) -> Bool { ranges?.contains { $0.contains(address) } ?? true }

    private static func elements(_ list: String) -> [Substring] {
        list.split { $0 == "," || $0 == " " || $0 == "\t" }
    }
}

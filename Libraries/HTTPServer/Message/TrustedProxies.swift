/// Whose word counts for where a request comes from.
///
/// Each proxy adds the address that called it to the end of `X-Forwarded-For`. So the list is read from its end, as long as those
/// who wrote it are trusted: what a client wrote itself stands in front of what the first trusted proxy saw, and isn't reached.
/// `X-Forwarded-Proto` is read in the same way; a proxy that overwrites it leaves its own word alone, which then counts.
public struct TrustedProxies: Hashable, Sendable {
    /// `nil` for any address.
    private let ranges: [AddressRange]?
    /// How many proxies a request passes at most.
    private let count: Int

    /// Nobody's: the address of the connection's other end is the client's.
    public static let none = TrustedProxies(ranges: [], count: 0)

    private static let words = [
        "loopback": ["127.0.0.0/8", "::1"],
        "private": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"],
    ]

    private init(ranges: [AddressRange]?, count: Int) {
        self.ranges = ranges
        self.count = count
    }

    /// Reads a list with commas between: addresses, ranges (`10.0.0.0/8`), `loopback`, `private`, and at most one number from 1 to
    /// 16, the most proxies that are believed. A number alone trusts whoever connects.
    ///
    /// - Returns: `nil` for what is none of it.
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

    /// The client's address, and the scheme by which it called: `http` or `https`.
    func origin(peer: RemoteAddress, headers: HTTPHeaders) -> (address: RemoteAddress, scheme: String) {
        guard count > 0, trusts(peer) else { return (peer, "http") }
        var address = peer, passed = 0
        // `address` is a proxy here, which says who called it.
        for element in Self.elements(headers["x-forwarded-for"] ?? "").reversed() {
            guard passed < count, trusts(address), let caller = RemoteAddress(text: element) else { break }
            address = caller
            passed += 1
        }
        let schemes = Self.elements(headers["x-forwarded-proto"] ?? "")
        // The word of the last proxy that was believed, or of the nearest to it.
        let scheme = schemes.isEmpty ? "" : schemes[max(0, schemes.count - max(passed, 1))]
        return (address, scheme.lowercased() == "https" ? "https" : "http")
    }

    private func trusts(_ address: RemoteAddress) -> Bool { ranges?.contains { $0.contains(address) } ?? true }

    private static func elements(_ list: String) -> [Substring] {
        list.split { $0 == "," || $0 == " " || $0 == "\t" }
    }
}

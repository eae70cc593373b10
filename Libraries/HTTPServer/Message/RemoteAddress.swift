import Glibc

/// The address of a client: that of the connection's peer, or the one that a trusted proxy reports.
public enum RemoteAddress: Sendable, Hashable, CustomStringConvertible {
    /// Four bytes in network order, and the port; 0 if a proxy didn't report it.
    case v4(UInt32, port: UInt16)
    /// Sixteen bytes as two words in network order, and the port.
    case v6(UInt64, UInt64, port: UInt16)
    /// The address isn't known.
    case unknown

    init(_ address: UnsafePointer<sockaddr>?) {
        guard let address else {
            self = .unknown
            return
        }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let inet = raw.loadUnaligned(as: sockaddr_in.self)
            self = .v4(inet.sin_addr.s_addr, port: UInt16(bigEndian: inet.sin_port))
        case AF_INET6:
            let inet = raw.loadUnaligned(as: sockaddr_in6.self)
            let words = withUnsafeBytes(of: inet.sin6_addr) {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self = .v6(words.0, words.1, port: UInt16(bigEndian: inet.sin6_port))
        default: self = .unknown
        }
    }

    /// Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
    /// - Returns: `nil` for any other text.
    init?(text: some StringProtocol) {
        var host = Substring(text), port: UInt16 = 0
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]"), let number = Self.port(host[end...].dropFirst()) else {
                return nil
            }
            (host, port) = (host[host.index(after: host.startIndex)..<end], number)
        } else if let colon = host.firstIndex(of: ":"), colon == host.lastIndex(of: ":") {
            guard let number = Self.port(host[colon...]) else { return nil }
            (host, port) = (host[..<colon], number)
        }
        // The maximum length of an address; longer texts aren't parsed.
        guard (1...45).contains(host.utf8.count), !host.utf8.contains(0) else { return nil }
        var v4 = in_addr(), v6 = in6_addr()
        if inet_pton(AF_INET, String(host), &v4) == 1 {
            self = .v4(v4.s_addr, port: port)
        } else if inet_pton(AF_INET6, String(host), &v6) == 1 {
            let words = withUnsafeBytes(of: v6) {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self = .v6(words.0, words.1, port: port)
        } else {
            return nil
        }
    }

    /// The port behind a colon; 0 for an empty text.
    private static func port(_ text: Substring) -> UInt16? {
        if text.isEmpty { return 0 }
        return text.first == ":" ? UInt16(text.dropFirst()) : nil
    }

    /// An address as 128 bits; an IPv4 address in its IPv6-mapped form.
    struct Bits: Hashable {
        var high: UInt64
        var low: UInt64

        func prefix(_ length: Int) -> Bits {
            // A shift by the full width gives 0.
            Bits(
                high: high & ~(UInt64.max >> UInt64(min(length, 64))),
                low: low & ~(UInt64.max >> UInt64(max(length - 64, 0))))
        }
    }

    /// The address as bits; `nil` if it is unknown.
    var bits: Bits? {
        switch self {
        case .v4(let address, _): Bits(high: 0, low: 0xFFFF << 32 | UInt64(UInt32(bigEndian: address)))
        case .v6(let high, let low, _): Bits(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        case .unknown: nil
        }
    }

    /// The address without the port, as text; an IPv4 address from an IPv6 socket in its IPv4 form. Empty if unknown.
    public var ip: String {
        switch self {
        case .v4(let address, _):
            return withUnsafeBytes(of: address) { bytes in bytes.map { String($0) }.joined(separator: ".") }
        case .v6(let high, let low, _):
            if high == 0, UInt64(bigEndian: low) >> 32 == 0xFFFF {
                let address = UInt32(truncatingIfNeeded: UInt64(bigEndian: low)).bigEndian
                return RemoteAddress.v4(address, port: 0).ip
            }
            return Self.text(high, low)
        case .unknown: return ""
        }
    }

    /// `ip:port`, with brackets around an IPv6 address; only `ip` if the port isn't known.
    public var description: String {
        switch self {
        case .v4(_, port: 0), .v6(_, _, port: 0): return ip
        case .v4(_, let port): return "\(ip):\(port)"
        case .v6(_, _, let port): return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
        case .unknown: return "unknown"
        }
    }

    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        var words = (high, low)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &words, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension RemoteAddress {
    /// The key for limits per client: an IPv4 address, or the /64 of an IPv6 address, since one machine has a whole /64.
    package var network: UInt64 {
        switch self {
        case .v4(let address, _): UInt64(address)
        // ::ffff:a.b.c.d is an IPv4 address. The words are in memory order.
        case .v6(0, let low, _) where UInt64(bigEndian: low) >> 32 == 0xFFFF:
            UInt64(UInt32(truncatingIfNeeded: UInt64(bigEndian: low)).bigEndian)
        case .v6(let high, _, _): high
        case .unknown: 0
        }
    }
}

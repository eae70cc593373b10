import Glibc

/// The address of a connection's other end: a client, or the proxy in front.
public enum RemoteAddress: Sendable, Hashable, CustomStringConvertible {
    /// Four bytes in network order, and the port.
    case v4(UInt32, port: UInt16)
    /// Sixteen bytes as two words in network order, and the port.
    case v6(UInt64, UInt64, port: UInt16)
    /// Not known.
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

    /// The address without the port, as text; an IPv4 address that came through an IPv6 socket as IPv4. Empty if
    /// unknown.
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

    /// `ip:port`, with brackets around an IPv6 address.
    public var description: String {
        switch self {
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

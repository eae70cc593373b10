import Glibc

/// An IP address as 16 bytes. An IPv4 address is `::ffff:a.b.c.d`, also if it was embedded in another form of IPv6 address.
struct IPAddress: Hashable, Sendable {
    let bytes: [UInt8]

    private init(sixteen bytes: [UInt8]) { self.bytes = Self.unwrapped(bytes) }

    private init(four bytes: [UInt8]) { self.bytes = Self.fourPrefix + bytes }

    private static let fourPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
    /// 64:ff9b::/96, by which an IPv6-only network reaches IPv4 (NAT64).
    private static let translationPrefix: [UInt8] = [0, 0x64, 0xff, 0x9b] + [UInt8](repeating: 0, count: 8)

    /// - Parameter text: the usual form of either family, without brackets, a zone or a port.
    init?(_ text: some StringProtocol) {
        let text = String(text)
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(four: withUnsafeBytes(of: &four) { Array($0) })
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(sixteen: withUnsafeBytes(of: &six) { Array($0) })
        } else {
            return nil
        }
    }

    /// - Parameter address: a `sockaddr` with all bytes of its family.
    /// - Returns: the address with the port; `nil` for other families.
    static func of(_ address: UnsafeRawBufferPointer) -> (address: IPAddress, port: Int)? {
        guard address.count >= MemoryLayout<sa_family_t>.size else { return nil }
        switch Int32(address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where address.count >= MemoryLayout<sockaddr_in>.size:
            var four = address.loadUnaligned(as: sockaddr_in.self)
            return (
                IPAddress(four: withUnsafeBytes(of: &four.sin_addr) { Array($0) }),
                Int(UInt16(bigEndian: four.sin_port))
            )
        case AF_INET6 where address.count >= MemoryLayout<sockaddr_in6>.size:
            var six = address.loadUnaligned(as: sockaddr_in6.self)
            return (
                IPAddress(sixteen: withUnsafeBytes(of: &six.sin6_addr) { Array($0) }),
                Int(UInt16(bigEndian: six.sin6_port))
            )
        default: return nil
        }
    }

    /// The effective address: the IPv4 address that is embedded in an IPv6 address (`::a.b.c.d`, `64:ff9b::a.b.c.d`).
    private static func unwrapped(_ bytes: [UInt8]) -> [UInt8] {
        let isTranslated = bytes.starts(with: translationPrefix)
        let isCompatible = bytes.prefix(12).allSatisfy { $0 == 0 } && bytes[12] != 0
        return isTranslated || isCompatible ? fourPrefix + bytes[12...] : bytes
    }

    var isFour: Bool { bytes.starts(with: Self.fourPrefix) }
}

/// A range of addresses with a common prefix.
struct IPRange: Hashable, Sendable {
    let first: IPAddress
    /// The length of the prefix, of 128 bits.
    let prefix: Int

    /// - Parameter text: an address, or one with a prefix length, `10.0.0.0/8`.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first.flatMap({ IPAddress($0) }) else { return nil }
        self.first = first
        guard parts.count == 2 else {
            prefix = 128
            return
        }
        let isFour = !parts[0].contains(":")
        guard let bits = Int(parts[1]), (0...(isFour ? 32 : 128)).contains(bits) else { return nil }
        prefix = isFour ? 96 + bits : bits
    }

    func contains(_ address: IPAddress) -> Bool {
        let whole = prefix / 8, rest = prefix % 8
        guard address.bytes[..<whole] == first.bytes[..<whole] else { return false }
        return rest == 0 || (address.bytes[whole] ^ first.bytes[whole]) >> (8 - UInt8(rest)) == 0
    }
}

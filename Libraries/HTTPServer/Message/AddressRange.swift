/// A range of addresses with a common prefix (CIDR), such as `10.0.0.0/8` or `fd00::/8`, or a single address.
public struct AddressRange: Hashable, Sendable {
    private let first: RemoteAddress.Bits
    /// The length of the prefix, of 128 bits.
    private let length: Int

    /// Parses an address, or an address with a prefix length.
    /// - Returns: `nil` for any other text.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = RemoteAddress(text: parts[0]), let bits = address.bits else { return nil }
        let width: Int
        switch address {
        case .v4: width = 32
        case .v6, .unknown: width = 128
        }
        var length = width
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let given = Int(parts[1]), given <= width
            else { return nil }
            length = given
        }
        self.length = 128 - width + length
        first = bits.prefix(self.length)
    }

    /// Whether the range contains the address; an IPv4 address from an IPv6 socket counts as IPv4.
    public func contains(_ address: RemoteAddress) -> Bool { address.bits?.prefix(length) == first }
}

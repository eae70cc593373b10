import Glibc
import Texts

/// Where a call comes from, as it is counted: an IPv4 address, or the /64 of an IPv6 address, of which one machine has all.
struct ClientNetwork: Hashable, Sendable {
    private let bytes: [UInt8]

    /// - Parameter address: an address without a port; whatever else it is counts by its bytes.
    init(_ address: String) {
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, address, &v4) == 1 {
            bytes = withUnsafeBytes(of: v4) { Array($0) }
        } else if inet_pton(AF_INET6, address, &v6) == 1 {
            let all = withUnsafeBytes(of: v6) { Array($0) }
            // ::ffff:a.b.c.d is an IPv4 address.
            let isMapped = all[..<10].allSatisfy { $0 == 0 } && all[10] == 0xFF && all[11] == 0xFF
            bytes = isMapped ? Array(all[12...]) : Array(all[..<8])
        } else {
            bytes = Array(address.utf8.prefix(64))
        }
    }

    /// For keys of Redis.
    var text: String { Hex.text(bytes) }
}

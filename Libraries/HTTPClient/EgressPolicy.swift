/// Where a client may connect to.
///
/// For requests whose URL comes from outside, as an app's functions and the issuers that it names: whoever can make a server ask for a URL
/// would otherwise reach what trusts the server's network, such as databases, administration pages and a cloud's metadata. It is asked
/// about each address that is connected to, so it doesn't matter how the URL is written, what a name resolves to at which moment, and
/// where a redirect leads.
public struct EgressPolicy: Sendable {
    /// Everywhere: for URLs that the operator configured.
    public static let unrestricted = EgressPolicy(isRestricted: false, allowed: [])
    /// Addresses of the public internet only.
    public static let publicOnly = EgressPolicy(isRestricted: true, allowed: [])

    private let isRestricted: Bool
    private let allowed: [Exception]

    private init(isRestricted: Bool, allowed: [Exception]) {
        self.isRestricted = isRestricted
        self.allowed = allowed
    }

    /// Addresses of the public internet, and what is listed.
    /// - Parameter entries: addresses (`10.1.2.3`), ranges (`10.0.0.0/8`, `fd00::/8`), names (`reports.internal`), and names with all
    ///   below them (`*.internal`); each may have a port (`10.1.2.3:8080`, `[fd00::1]:8080`, `reports.internal:8080`).
    /// - Throws: `EgressPolicyError` with the first entry that is none of these.
    public init(allowing entries: [String]) throws(EgressPolicyError) {
        isRestricted = true
        var allowed: [Exception] = []
        for entry in entries {
            guard let exception = Exception(entry) else { throw EgressPolicyError(entry: entry) }
            allowed.append(exception)
        }
        self.allowed = allowed
    }

    /// - Parameter host: the host of the URL that is asked for at this moment, as it stands there.
    func permits(_ address: IPAddress, port: Int, host: String) -> Bool {
        guard isRestricted, !Self.isPublic(address) else { return true }
        return allowed.contains { $0.covers(address, port: port, host: host) }
    }

    /// Whether an address is one of the internet's that anybody can reach.
    static func isPublic(_ address: IPAddress) -> Bool {
        !reserved.contains { $0.contains(address) } && (address.isFour || global.contains(address))
    }

    /// The part of IPv6 that is given to hosts; all others are local or mean something else.
    private static let global = range("2000::/3")

    /// The special-purpose registries of IANA, and the host agent of one cloud, which has an address of the public internet.
    private static let reserved = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].map(range)

    private static func range(_ text: String) -> IPRange {
        guard let range = IPRange(text) else { preconditionFailure("\(text) is no range") }
        return range
    }
}

extension EgressPolicy {
    /// What an operator allows.
    private struct Exception: Sendable {
        private enum Place: Sendable {
            case range(IPRange)
            case name(String)
            /// All names that end so, with the dot.
            case suffix(String)
        }

        private let place: Place
        private let port: Int?

        init?(_ text: String) {
            var host = text[...]
            var port: Int?
            // One colon is a port's; an address of IPv6 has more, and brackets when it has a port.
            if let bracket = text.lastIndex(of: "]"), text.hasPrefix("[") {
                let rest = text[text.index(after: bracket)...]
                host = text[text.index(after: text.startIndex)..<bracket]
                if !rest.isEmpty {
                    guard rest.hasPrefix(":"), let number = UInt16(rest.dropFirst()) else { return nil }
                    port = Int(number)
                }
            } else if text.filter({ $0 == ":" }).count == 1, let colon = text.firstIndex(of: ":") {
                guard let number = UInt16(text[text.index(after: colon)...]) else { return nil }
                host = text[..<colon]
                port = Int(number)
            }
            self.port = port
            let name = host.lowercased()
            if let range = IPRange(host) {
                place = .range(range)
            } else if name.hasPrefix("*."), Self.isName(name.dropFirst(2)) {
                place = .suffix(String(name.dropFirst()))
            } else if Self.isName(name[...]), !name.allSatisfy({ $0.isNumber || $0 == "." }) {
                place = .name(name)
            } else {
                return nil
            }
        }

        func covers(_ address: IPAddress, port: Int, host: String) -> Bool {
            guard self.port == nil || self.port == port else { return false }
            var host = host.lowercased()
            if host.hasSuffix(".") { host.removeLast() }
            return switch place {
            case .range(let range): range.contains(address)
            case .name(let name): host == name
            case .suffix(let suffix): host.hasSuffix(suffix)
            }
        }

        private static func isName(_ text: Substring) -> Bool {
            !text.isEmpty && text.utf8.count <= 253
                && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                    !label.isEmpty
                        && label.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains($0) }
                }
        }
    }
}

/// An entry of a list of exceptions that is no address, range or name.
public struct EgressPolicyError: Error, Sendable, CustomStringConvertible {
    /// The entry.
    public let entry: String
    /// What is expected.
    public var description: String {
        "\"\(entry)\" is no address, no range such as 10.0.0.0/8, and no name such as reports.internal or *.internal"
    }
}

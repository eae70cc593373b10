/// The addresses to which a client may connect.
///
/// It is for requests whose URL comes from outside, such as those of an app's functions and to the issuers that an app names.
/// Otherwise anyone who can make the server request a URL could reach systems that trust the server's network, such as databases,
/// administration pages and a cloud's metadata service (SSRF). It is checked for each address before connecting, so the notation of
/// the URL, the time of name resolution and redirects don't matter.
public struct EgressPolicy: Sendable {
    /// All addresses, for URLs that the operator configured.
    public static let unrestricted = EgressPolicy(isRestricted: false, allowed: [])
    /// Addresses of the public internet only.
    public static let publicOnly = EgressPolicy(isRestricted: true, allowed: [])

    private let isRestricted: Bool
    private let allowed: [Exception]

    private init(isRestricted: Bool, allowed: [Exception]) {
        self.isRestricted = isRestricted
        self.allowed = allowed
    }

    /// Addresses of the public internet, and the listed exceptions.
    /// - Parameter entries: addresses (`10.1.2.3`), ranges (`10.0.0.0/8`, `fd00::/8`), names (`reports.internal`), and all
    ///   subdomains of a name (`*.internal`); each may have a port (`10.1.2.3:8080`, `[fd00::1]:8080`, `reports.internal:8080`).
    /// - Throws: `EgressPolicyError` with the first malformed entry.
    public init(allowing entries: [String]) throws(EgressPolicyError) {
        isRestricted = true
        var allowed: [Exception] = []
        for entry in entries {
            guard let exception = Exception(entry) else { throw EgressPolicyError(entry: entry) }
            allowed.append(exception)
        }
        self.allowed = allowed
    }

    /// - Parameter host: the host of the URL that is currently requested, in its notation there.
    func permits(_ address: IPAddress, port: Int, host: String) -> Bool {
        guard isRestricted, !Self.isPublic(address) else { return true }
        return allowed.contains { $0.covers(address, port: port, host: host) }
    }

    /// Whether an address is a public one of the internet.
    static func isPublic(_ address: IPAddress) -> Bool {
        !reserved.contains { $0.contains(address) } && (address.isFour || global.contains(address))
    }

    /// The global unicast range of IPv6; all other ranges are local or have other purposes.
    private static let global = range("2000::/3")

    /// The ranges of IANA's special-purpose registries, and the public address that one cloud uses for its host agent.
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
    /// An exception that the operator allows.
    private struct Exception: Sendable {
        private enum Place: Sendable {
            case range(IPRange)
            case name(String)
            /// All names with this suffix, which includes the leading dot.
            case suffix(String)
        }

        private let place: Place
        private let port: Int?

        init?(_ text: String) {
            var host = text[...]
            var port: Int?
            // A single colon precedes a port; an IPv6 address has more, and has brackets when it has a port.
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

/// An entry of the list of exceptions that isn't an address, range or name.
public struct EgressPolicyError: Error, Sendable, CustomStringConvertible {
    /// The entry.
    public let entry: String
    /// The error, with the expected forms.
    public var description: String {
        "\"\(entry)\" is neither an address, nor a range such as 10.0.0.0/8, nor a name such as reports.internal or *.internal"
    }
}

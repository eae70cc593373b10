import AppRegistry
import DocumentModel
import Foundation
public import ServiceBootstrap

/// Where apps' hosted files are served: each app at a host of its own, `<app>.<domain>`. A browser keeps the pages of different hosts apart,
/// so that none can read what a page of another app stores, or act as its user.
public struct HostingAddress: Sendable {
    private let scheme: String
    /// In lower case.
    public let domain: String
    private let port: Int?

    /// - Parameter url: `https://apps.example.com`, with a port unless it is the scheme's own.
    /// - Returns: `nil` when it isn't a scheme, a domain and perhaps a port.
    public init?(url: String) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = parts.host?.lowercased(),
            host.wholeMatch(of: /[a-z0-9-]+(\.[a-z0-9-]+)*/) != nil,
            // An address has no hosts below it.
            host.wholeMatch(of: /[0-9.]+/) == nil,
            ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil, parts.user == nil
        else { return nil }
        self.scheme = scheme
        domain = host
        port = parts.port == (scheme == "https" ? 443 : 80) ? nil : parts.port
    }

    /// The address that `hosting.url` configures; `nil` when it isn't set.
    /// - Throws: `ConfigurationError`.
    public init?(_ configuration: Configuration) throws(ConfigurationError) {
        guard let url = configuration[EngineSettings.hostingURL] else { return nil }
        guard let address = HostingAddress(url: url) else {
            throw ConfigurationError(
                key: "hosting.url",
                "must be a scheme, a domain and perhaps a port, such as https://apps.example.com: an IP address has no hosts below it, and a path can't be part of it"
            )
        }
        self = address
    }

    /// Whether a host is one of those that apps have.
    public func contains(host: String) -> Bool { isBelow(host.lowercased()) }

    /// Compared by bytes, as all that comes from outside.
    private func isBelow(_ host: String) -> Bool {
        let end = "." + domain
        return host.utf8.suffix(end.utf8.count).elementsEqual(end.utf8)
    }

    /// The origin of an app's pages, `https://shop-abcde.apps.example.com`.
    public func origin(of app: String) -> String {
        "\(scheme)://\(app.lowercased()).\(domain)" + (port.map { ":\($0)" } ?? "")
    }

    /// The name before the domain that the `Host` of a request has, in lower case; `nil` for any other host.
    public func name(inHost field: String) -> String? {
        var host = field.lowercased()
        if let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().utf8.allSatisfy({ 48...57 ~= $0 }) {
            host = String(host[..<colon])
        }
        if host.hasSuffix(".") { host.removeLast() }
        guard isBelow(host) else { return nil }
        let name = host.utf8.dropLast(domain.utf8.count + 1)
        return name.isEmpty || name.contains(UInt8(ascii: ".")) ? nil : String(Substring(name))
    }
}

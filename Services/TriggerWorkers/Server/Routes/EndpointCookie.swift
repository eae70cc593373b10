import Foundation

/// The cookies of apps' endpoints, which all have the same host: each app's own are sent to its own paths only.
enum EndpointCookie {
    private static let spaces = CharacterSet(charactersIn: " \t")

    /// The value of a `Set-Cookie` field with which a browser sends the cookie only to this host, and to paths below one.
    ///
    /// A `Path` below it stays, and any other becomes it. Without one the browser takes that of the endpoint. `Domain` is left out, and with it
    /// the hosts of apps' pages (RFC 6265, sections 5.1.4, 5.2.3 and 5.2.4).
    static func confined(_ field: String, to appPath: String) -> String {
        let parts = field.splitAtBytes(";")
        let attributes: [String] = parts.dropFirst().compactMap { part in
            let halves = part.splitAtBytes("=", maxSplits: 1).map { $0.trimmingCharacters(in: spaces) }
            switch halves[0].lowercased() {
            case "domain": return nil
            case "path":
                let path = halves.count > 1 ? halves[1] : ""
                return " Path=\(path.startsWithBytes(of: appPath + "/") ? path : appPath)"
            default: return part
            }
        }
        return ([parts[0]] + attributes).joined(separator: ";")
    }
}

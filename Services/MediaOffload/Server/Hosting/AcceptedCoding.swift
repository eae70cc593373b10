/// Which content codings a client accepts (RFC 9110, 12.5.3).
enum AcceptedCoding {
    /// Whether it accepts gzip.
    /// - Parameter field: the value of `Accept-Encoding`; `nil` when it has none, which accepts any, but an old client may not know any.
    static func allowsGzip(_ field: String?) -> Bool {
        var any = false
        for member in (field ?? "").split(separator: ",") {
            let parts = member.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let coding = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            switch coding {
            case "gzip", "x-gzip": return weight > 0
            case "*": any = weight > 0
            default: continue
            }
        }
        return any
    }
}

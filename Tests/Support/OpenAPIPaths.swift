import Foundation

/// Reads methods and paths out of `Deploy/openapi.yaml`: `paths:`, two spaces before a path, four before a method.
public enum OpenAPIPaths {
    /// The operations of a service, as `GET /path/:parameter`, sorted.
    public static func read(tag: String) throws -> [String] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Deploy/openapi.yaml").standardized
        var found: [String] = []
        var path = ""
        var method = ""
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("  /"), line.hasSuffix(":") {
                path = String(line.dropFirst(2).dropLast()).replacing(/\{([a-z]+)\}/) { ":\($0.1)" }
            } else if line.hasPrefix("    "), !line.hasPrefix("     "), line.hasSuffix(":") {
                method = line.dropFirst(4).dropLast().uppercased()
            } else if line.trimmingCharacters(in: .whitespaces) == "tags: [\(tag)]" {
                found.append("\(method) \(path)")
            }
        }
        return found.sorted()
    }
}

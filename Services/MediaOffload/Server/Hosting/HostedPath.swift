import DocumentModel
import HTTPServer

/// The path of a hosted file, as a request names it.
struct HostedPath: Equatable {
    /// The path in `hosting/files`, without the slash at its beginning; it ends with a slash for a folder.
    @ExactText var text: String

    /// - Parameter raw: the path as received, which begins with a slash.
    /// - Returns: `nil` for a path that can't be that of a file: one with `.` or `..`, or with an encoded slash.
    init?(_ raw: String) {
        var parts: [String] = []
        for part in raw.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let text = PercentDecoding.decode(Substring(part)), text != ".", text != "..",
                !text.utf8.contains(UInt8(ascii: "/"))
            else { return nil }
            parts.append(text)
        }
        text = parts.joined(separator: "/")
    }

    /// Whether it is that of a folder.
    var isFolder: Bool { text.isEmpty || text.utf8.last == UInt8(ascii: "/") }

    /// The path of the folder's page.
    var index: String { (isFolder ? text : text + "/") + "index.html" }
}

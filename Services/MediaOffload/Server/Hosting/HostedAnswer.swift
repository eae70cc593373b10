import AppDefinition
import AppRegistry
import DocumentModel
import HTTPServer

/// The answer to a request for a hosted file, without its bytes: which representation, which part, and the fields.
struct HostedAnswer {
    let request: HTTPRequest
    let file: AppRegistry.HostedFile
    let isCompressed: Bool
    /// The bytes of the representation that is chosen.
    let size: Int
    /// The part that is sent, or that is left out of the answer to HEAD or of a 304; `nil` for an answer without content.
    let range: Range<Int>?
    let head: HTTPResponse

    /// - Parameter status: that of a page that stands for a missing one.
    init(
        _ request: HTTPRequest, _ path: String, _ file: AppRegistry.HostedFile, _ hosting: Hosting, _ app: DeployedApp,
        status: Int = 200
    ) {
        self.request = request
        self.file = file
        let attributes = hosting.attributes[ExactText(path)] ?? Hosting.Attributes()
        let field = request.method == .get && status == 200 ? request.headers["range"] : nil
        let isCoded = attributes.header("Content-Encoding") != nil
        // A part is one of the file itself.
        isCompressed =
            !isCoded && field == nil && file.compressedSize != nil
            && AcceptedCoding.allowsGzip(request.headers["accept-encoding"])
        size = isCompressed ? file.compressedSize ?? 0 : file.size
        let tag = "\"\(file.digest)\(isCompressed ? "-gzip" : "")\""
        var head = HTTPResponse(
            status: status,
            headers: [
                "Content-Type": attributes.header("Content-Type") ?? HostedContentType.of(path),
                "Cache-Control": attributes.header("Cache-Control") ?? "no-cache",
                "X-Content-Type-Options": "nosniff",
            ])
        for name in ["Content-Disposition", "Content-Encoding", "Content-Language"] {
            head.headers[name] = attributes.header(name)
        }
        if isCompressed { head.headers["Content-Encoding"] = "gzip" }
        if !isCoded, file.compressedSize != nil { head.headers.add("Vary", "Accept-Encoding") }
        if let place = attributes.redirect {
            head.headers["Location"] = place
            head.status = 301
            (range, self.head) = (nil, head)
            return
        }
        guard status == 200 else {
            (range, self.head) = (0..<size, head)
            return
        }
        head.headers["ETag"] = tag
        head.headers["Last-Modified"] = HTTPDate.text(app.deployedAt)
        head.headers["Accept-Ranges"] = "bytes"
        if Self.isOutdated(request, tag, since: app.deployedAt) {
            self.head = HTTPResponse(status: 412, headers: ["Cache-Control": "no-cache"])
            range = nil
            return
        }
        if Self.isUnchanged(request, tag, since: app.deployedAt) {
            head.status = 304
            (range, self.head) = (0..<size, head)
            return
        }
        // Another condition than the tag isn't strong enough to join parts.
        let part = request.headers["if-range"].map { $0 == tag } ?? true ? field : nil
        switch part.map({ ByteRange($0, of: file.size) }) ?? .whole {
        case .whole: range = 0..<size
        case .part(let part):
            head.status = 206
            head.headers["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
            range = part
        case .beyond:
            head = HTTPResponse(
                status: 416, headers: ["Content-Range": "bytes */\(size)", "Cache-Control": "no-cache"])
            range = nil
        }
        self.head = head
    }

    /// Whether the client wants another representation than this one, of which it has a part, for instance (RFC 9110, 13.1.1 and 13.1.4).
    private static func isOutdated(_ request: HTTPRequest, _ tag: String, since deployedAt: Int64) -> Bool {
        let headers = request.headers
        guard headers["if-match"] == nil else { return !["*", tag].contains { headers.contains("if-match", $0) } }
        guard let date = headers["if-unmodified-since"].flatMap(HTTPDate.milliseconds) else { return false }
        return deployedAt / 1000 > date / 1000
    }

    /// Whether the client has the representation already.
    private static func isUnchanged(_ request: HTTPRequest, _ tag: String, since deployedAt: Int64) -> Bool {
        let headers = request.headers
        guard headers["if-none-match"] == nil else {
            return ["*", tag, "W/" + tag].contains { headers.contains("if-none-match", $0) }
        }
        guard let date = headers["if-modified-since"].flatMap(HTTPDate.milliseconds) else { return false }
        return deployedAt / 1000 <= date / 1000
    }
}

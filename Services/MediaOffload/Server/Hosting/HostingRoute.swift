import AppDefinition
import AppRegistry
import DocumentModel
import EventStream
import HTTPServer
import ServiceEngines

/// `GET` of a hosted file. The proxy puts `/hosted` before the path of a request to the hosts of `hosting.url`, since the paths of an app's
/// files may be any. The app is the one that `Host` names and no other, also for a client that reaches this service itself: otherwise
/// pages of several apps could be opened at one origin.
struct HostingRoute: Sendable {
    private static let prefix = "/hosted"
    static let template = prefix + "/*path"

    let address: HostingAddress?
    let apps: AppDirectory
    let sites: HostedSites
    let contents: HostedContents

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        do { return try await open(request) } catch  where TransientErrors.contains(error) {
            throw HTTPError(503, code: "ServiceUnavailable", "the database can't be reached")
        }
    }

    private func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let name = request.headers["host"].flatMap({ address?.name(inHost: $0) }) else {
            throw HTTPError(404, code: "NotFound", "no such resource")
        }
        guard apps.isLoaded else { throw HTTPError(503, code: "ServiceUnavailable", "the apps aren't loaded yet") }
        guard let app = app(named: name), let hosting = app.definition.hosting else {
            return Self.missing("no app has pages at this host")
        }
        let files = try await sites.files(of: app)
        let raw = request.path.utf8.dropFirst(Self.prefix.utf8.count)
        if let path = HostedPath(String(Substring(raw))) {
            for text in [path.text] + (path.isFolder ? [path.index] : []) {
                guard let file = files[text] else { continue }
                return try await answer(HostedAnswer(request, text, file, hosting, app), of: app)
            }
            if !path.isFolder, files[path.index] != nil { return Self.redirect(toFolder: path.text, request.query) }
        }
        if let page = hosting.errorPath?.text, let file = files[page] {
            return try await answer(
                HostedAnswer(request, page, file, hosting, app, status: hosting.errorStatus), of: app)
        }
        return Self.missing("there is no such file")
    }

    /// The app of a host. Names of hosts have no case: of several apps whose ids differ only in case none has it. A deployment refuses such
    /// an id.
    private func app(named name: String) -> DeployedApp? {
        let named = apps.apps.values.filter { $0.id.lowercased().hasSameBytes(as: name) }
        return named.count == 1 ? named.first : nil
    }

    private func answer(_ answer: HostedAnswer, of app: DeployedApp) async throws -> HTTPResponse {
        guard let range = answer.range else { return answer.head }
        var response = answer.head
        if range.isEmpty { return response }
        if answer.request.method == .head || response.status == 304 {
            // Its length, without the bytes.
            response.body = .stream(HTTPBodyStream(length: UInt64(range.count)) { _ in })
            return response
        }
        let content = try await contents.content(
            .init(app: app.id, digest: answer.file.digest, isCompressed: answer.isCompressed), size: answer.size)
        guard content.bytes.count == answer.size else {
            throw HTTPError(503, code: "ServiceUnavailable", "the app is being deployed; try again")
        }
        response.body = Self.body(content, range)
        return response
    }

    /// Larger bodies are sent in parts of this size, so that a slow client doesn't have all of it copied.
    private static let part = 64 << 10

    private static func body(_ content: HostedContents.Content, _ range: Range<Int>) -> HTTPResponse.Body {
        if range.count <= part { return .bytes(Array(content.bytes[range])) }
        return .stream(
            HTTPBodyStream(length: UInt64(range.count)) { writer in
                for start in stride(from: range.lowerBound, to: range.upperBound, by: part) {
                    try await writer.write(Array(content.bytes[start..<min(start + part, range.upperBound)]))
                }
            })
    }

    private static func redirect(toFolder path: String, _ query: HTTPQuery) -> HTTPResponse {
        // Two slashes at the beginning would name another host.
        guard !path.startsWithBytes(of: "/") else { return missing("there is no such file") }
        var place = "/\(PercentEncoding.encode(path, keeping: "/"))/"
        // Links of mails have a token there.
        if !query.raw.isEmpty { place += "?\(query.raw)" }
        return HTTPResponse(status: 302, headers: ["Location": place, "Cache-Control": "no-cache"])
    }

    private static func missing(_ text: String) -> HTTPResponse {
        var response = HTTPResponse.text("404: \(text)\n", status: 404)
        response.headers["Cache-Control"] = "no-cache"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    }
}

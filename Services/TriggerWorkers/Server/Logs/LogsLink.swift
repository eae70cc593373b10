import DocumentModel
import HTTPServer

/// Where an administrator reads the log lines of a call that has just failed: the `link` of its error, as on App Services.
enum LogsLink {
    /// Lines are written a little after the failure, in microseconds; later ones than these aren't on the page.
    private static let delay: Int64 = 10_000_000

    /// - Returns: a URL of the administration API at the address that the client used; `nil` when it named none.
    static func url(of app: String, for request: HTTPRequest, clock: WallClock = .system) -> String? {
        guard let host = request.headers["host"] else { return nil }
        let before = clock.now() * 1000 + delay
        return
            "\(request.scheme)://\(host)/api/admin/v1/apps/\(PercentEncoding.encode(app))/logs?before=\(before)&limit=500"
    }
}

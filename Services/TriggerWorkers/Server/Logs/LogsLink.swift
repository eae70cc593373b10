import DocumentModel
import HTTPServer

/// Where an administrator reads the log lines of a call that has just failed: the `link` of its error, as on App Services.
enum LogsLink {
    /// Lines are written a little after the failure, in microseconds; later ones than these aren't on the page.
    private static let delay: Int64 = 10_000_000

    /// - Parameter base: where clients reach the system.
    /// - Returns: a URL of the administration API.
    static func url(of app: String, at base: String, clock: WallClock = .system) -> String {
        let before = clock.now() * 1000 + delay
        return "\(base)/api/admin/v1/apps/\(PercentEncoding.encode(app))/logs?before=\(before)&limit=500"
    }
}

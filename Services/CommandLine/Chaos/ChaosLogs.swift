import DocumentModel
import Foundation

/// The services' logs, after a run.
enum ChaosLogs {
    /// The lines of errors that the faults don't explain, each message of a service once.
    static func errors(in places: Places, of names: [String]) throws -> [String] {
        var errors: [String] = []
        for name in names {
            let text = try String(contentsOfFile: places.logs + "/\(name).log", encoding: .utf8)
            var seen: Set<String> = []
            for line in text.split(separator: "\n")
            where line.contains("\"level\":\"error\"") || line.contains("\"level\":\"critical\"") {
                // A line that a killed process couldn't finish isn't JSON.
                let event = try? ExtendedJSON.parseDocument(String(line))
                if (event.map(isCaused) ?? false) || !seen.insert(event?["message"]?.stringValue ?? "").inserted {
                    continue
                }
                errors.append("\(name): \(line.prefix(600))")
            }
        }
        return errors
    }

    /// Whether a fault is the cause: something was killed, or what a request needs was away.
    private static func isCaused(_ event: Document) -> Bool {
        switch event["message"]?.stringValue {
        case "librdkafka", "started again after a crash": true
        case "request failed": event["metadata"]?["error"]?.stringValue?.hasPrefix("503 ") ?? false
        default: false
        }
    }
}

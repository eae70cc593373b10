import ChildProcesses
import Foundation

/// Where a system's media are stored.
struct MediaPlace: Sendable {
    /// The directory, if they are stored as files; otherwise `nil`.
    let files: String?
    /// What the user should do if they aren't.
    let advice: String

    /// The directory of `--media`, that of media-offload's configuration, or that of `partita up`.
    init(_ arguments: Arguments) {
        let variables = CurrentEnvironment.variables
        if let endpoint = variables["PARTITA_S3_ENDPOINT"], !endpoint.isEmpty, arguments.value("media") == nil {
            files = nil
            advice = "enable versioning of the bucket at \(endpoint), or copy it separately"
            return
        }
        let given = arguments.value("media") ?? variables["PARTITA_MEDIA_DIRECTORY"]
        let path = given ?? Places(data: arguments.value("data")).media
        files = given != nil || FileManager.default.fileExists(atPath: path) ? path : nil
        advice = "pass their directory with --media, or copy the object store separately"
    }
}

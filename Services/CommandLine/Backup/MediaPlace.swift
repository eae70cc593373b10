import ChildProcesses
import Foundation

/// Where a system's media are.
struct MediaPlace: Sendable {
    /// The directory, where they are kept as files.
    let files: String?
    /// What is to be done where they aren't.
    let advice: String

    /// `--media`, what media-offload is told, or the directory of `partita up`.
    init(_ arguments: Arguments) {
        let variables = CurrentEnvironment.variables
        if let endpoint = variables["PARTITA_S3_ENDPOINT"], !endpoint.isEmpty, arguments.value("media") == nil {
            files = nil
            advice = "switch on versioning for the bucket at \(endpoint), or copy it on its own"
            return
        }
        let given = arguments.value("media") ?? variables["PARTITA_MEDIA_DIRECTORY"]
        let path = given ?? Places(data: arguments.value("data")).media
        files = given != nil || FileManager.default.fileExists(atPath: path) ? path : nil
        advice = "name their directory with --media, or copy the object store on its own"
    }
}

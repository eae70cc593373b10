import DocumentModel

/// What an app hosts: the files of `hosting/files`, as `hosting/config.json` (or `hosting` of the root file) and
/// `hosting/metadata.json` say.
public struct Hosting: Sendable {
    /// The folder of the app that has the files.
    public static let folder = "hosting/files/"
    /// The most bytes of a hosted file. All of them together count against `AppFiles.otherTotalLimit`.
    public static let fileLimit = 25 << 20

    /// What `metadata.json` says of a file.
    public struct Attributes: Sendable {
        /// The fields of the answer, with their names as ``Hosting/fields`` writes them.
        public var headers: [(name: String, value: String)] = []
        /// Where a request for the file is redirected, a path or a URL; `nil` answers with the file.
        public var redirect: String?

        public init() {}

        /// A field's value; `nil` when the metadata don't have it.
        public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    /// The attributes of files that are fields of the answer. There is one more, `Website-Redirect-Location`.
    public static let fields = [
        "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Type",
    ]

    /// The file that answers requests for which there is none, by its path in the folder; `nil` for none.
    public var errorPath: ExactText?
    /// The status with which it is answered: 200 for an app of one page.
    public var errorStatus = 404
    /// What `metadata.json` says, by paths in the folder.
    public var attributes: [ExactText: Attributes] = [:]

    /// The path in the folder of a file of the app; `nil` for a file that isn't hosted. Files and folders whose names begin with a dot
    /// aren't, except for `.well-known`: they are settings of tools, and may hold secrets.
    public static func path(ofFile file: String) -> String? {
        guard file.startsWithBytes(of: folder) else { return nil }
        let path = String(decoding: file.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
        let isHidden = path.splitAtBytes("/").contains {
            $0.utf8.first == UInt8(ascii: ".") && !$0.hasSameBytes(as: ".well-known")
        }
        return isHidden || path.isEmpty ? nil : path
    }
}

extension DefinitionProblem {
    /// A hosted file that is passed over, so that the rest of the app can be served.
    static func hostedTooLarge(_ path: String) -> DefinitionProblem {
        DefinitionProblem(
            .fileTooLarge, severity: .warning, file: path,
            "it has more than \(Hosting.fileLimit) bytes, the limit for a hosted file: it isn't served, and `partita app export` won't have it; put it into an object store, and have pages link to it there"
        )
    }
}

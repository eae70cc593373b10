import DocumentModel

/// Collects the problems of an app's folder while it is read. Used by one reader, on one thread.
final class ProblemLog {
    private let files: AppFiles
    private(set) var problems: [DefinitionProblem] = []
    private var misspellings = Misspellings()

    init(files: AppFiles) { self.files = files }

    func add(
        _ code: DefinitionProblem.Code, severity: DefinitionProblem.Severity = .error, file: String,
        pointer: String = "",
        line: Int? = nil, _ message: String
    ) {
        var line = line
        if line == nil, !pointer.isEmpty, let text = files[file] { line = JSONPointer.line(of: pointer, in: text) }
        problems.append(
            DefinitionProblem(code, severity: severity, file: file, pointer: pointer, line: line, message))
    }

    /// Records that a field of an object is read.
    func asked(for name: String, of object: Document, file: String, pointer: String) {
        misspellings.asked(for: name, of: object, file: file, pointer: pointer)
    }

    /// Warns of names that weren't read and that resemble a name that was looked up. Call it when everything has been read.
    func noteMisspellings() {
        for found in misspellings.found {
            add(
                .fieldUnknown, severity: .warning, file: found.file,
                pointer: found.pointer + "/" + JSONPointer.escape(found.name),
                "'\(found.name)' is unknown: did you mean '\(found.meant)'?")
        }
    }

    func text(_ file: String) -> String? { files[file] }

    /// All problems, sorted by file and line.
    var sorted: [DefinitionProblem] {
        problems.enumerated().sorted {
            ($0.element.file, $0.element.line ?? 0, $0.offset) < ($1.element.file, $1.element.line ?? 0, $1.offset)
        }.map(\.element)
    }
}

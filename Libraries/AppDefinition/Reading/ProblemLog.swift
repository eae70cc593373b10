import DocumentModel

/// Collects the problems of an app's folder while it is read. Used by one reader, on one thread.
final class ProblemLog {
    private let files: AppFiles
    private(set) var problems: [DefinitionProblem] = []
    private var misspellings = Misspellings()
    private var unused = UnusedFields()
    private var parsed: [ExactText: Value?] = [:]
    /// The places that were found not to be objects, as `file pointer`.
    private var wrongPlaces: Set<ExactText> = []

    init(files: AppFiles) { self.files = files }

    func add(
        _ code: DefinitionProblem.Code, severity: DefinitionProblem.Severity = .error, file: String,
        pointer: String = "",
        line: Int? = nil, _ message: String
    ) {
        var line = line
        // What concerns a whole file is said of its beginning.
        if line == nil, let text = files[file] { line = pointer.isEmpty ? 1 : JSONPointer.line(of: pointer, in: text) }
        problems.append(
            DefinitionProblem(code, severity: severity, file: file, pointer: pointer, line: line, message))
    }

    /// Logs what was found before the files were read.
    func add(_ problem: DefinitionProblem) { problems.append(problem) }

    /// Logs a value from which a field is read, although it is no object; once for each place.
    func notAnObject(_ value: Value, file: String, pointer: String) {
        guard wrongPlaces.insert("\(file) \(pointer)") else { return }
        add(
            .fieldType, file: file, pointer: pointer, line: pointer.isEmpty ? 1 : nil,
            "is \(value.typeName), but must be an object: write {…}")
    }

    /// Records that a field of an object is read.
    func asked(for name: String, of object: Document, file: String, pointer: String) {
        misspellings.asked(for: name, of: object, file: file, pointer: pointer)
        unused.asked(for: name, of: object, file: file, pointer: pointer)
    }

    /// Warns of names that weren't read: of those that resemble a name that was looked up, and of settings that have no effect. Call it when
    /// everything has been read.
    func noteUnread() {
        for found in misspellings.found {
            add(
                .fieldUnknown, severity: .warning, file: found.file,
                pointer: found.pointer + "/" + JSONPointer.escape(found.name),
                "'\(found.name)' is unknown: did you mean '\(found.meant)'?")
        }
        let reported = Set(problems.map { "\($0.file) \($0.pointer)" }.map { ExactText($0) })
        // Where reading has ended with an error, nobody knows what would have been read.
        let wrong = Set(texts: problems.filter { $0.severity == .error }.map(\.file))
        for found in unused.found
        where !wrong.contains(ExactText(found.file)) && !reported.contains(ExactText("\(found.file) \(found.pointer)"))
        {
            add(.fieldUnused, severity: .warning, file: found.file, pointer: found.pointer, found.message)
        }
    }

    func text(_ file: String) -> String? { files[file] }

    /// The first line of a file that has a text; `nil` when none does.
    func line(of part: String, in file: String) -> Int? {
        guard let text = files[file], let range = text.range(of: part) else { return nil }
        return JSONPointer.line(atOffset: text.utf8.distance(from: text.startIndex, to: range.lowerBound), in: text)
    }

    /// The value of a JSON file; `nil` when it doesn't exist, is `null`, or is malformed. The first call logs what is wrong with it.
    ///
    /// - Parameter severity: that of malformed JSON: a warning for files that are only read to report on them.
    func value(_ file: String, severity: DefinitionProblem.Severity = .error) -> Value? {
        guard let text = files[file] else { return nil }
        if let known = parsed[file] { return known }
        let value = parse(text, of: file, severity)
        parsed[file] = .some(value)
        return value
    }

    private func parse(_ text: String, of file: String, _ severity: DefinitionProblem.Severity) -> Value? {
        do throws(ExtendedJSONError) {
            let (value, commas) = try ConfigText.parse(text)
            for offset in commas {
                add(
                    .jsonTrailingComma, severity: .warning, file: file,
                    line: JSONPointer.line(atOffset: offset, in: text),
                    "trailing comma: JSON allows none before a closing bracket; it is passed over, but remove it")
            }
            guard !value.isNull else {
                add(
                    .fieldType, severity: .warning, file: file, line: 1,
                    "the file is null, which is read as if it were missing: remove it, or write {} or []")
                return nil
            }
            return value
        } catch {
            let line = JSONPointer.line(atOffset: error.offset, in: text)
            add(.jsonInvalid, severity: severity, file: file, line: line, error.description)
            return nil
        }
    }

    /// The files whose values were asked for so far.
    var read: Set<ExactText> { Set(parsed.keys) }

    /// All problems, sorted by file and line.
    var sorted: [DefinitionProblem] {
        problems.enumerated().sorted {
            ($0.element.file, $0.element.line ?? 0, $0.offset) < ($1.element.file, $1.element.line ?? 0, $1.offset)
        }.map(\.element)
    }
}

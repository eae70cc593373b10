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
    /// The problems whose lines are still to be found, by file.
    private var pointed: [ExactText: [Int]] = [:]
    /// How many problems were logged of each file.
    private var counts: [ExactText: Int] = [:]
    /// The problems that stand for those beyond the limit of their file.
    private var rests: [ExactText: Int] = [:]

    /// The most problems of a file that are told apart: a file can have millions, and whoever corrects some hundred sees the next ones.
    static let fileLimit = 200

    init(files: AppFiles) { self.files = files }

    /// - Parameter line: not asked for when the file has too many problems.
    func add(
        _ code: DefinitionProblem.Code, severity: DefinitionProblem.Severity = .error, file: String,
        pointer: String = "",
        line: @autoclosure () -> Int? = nil, _ message: @autoclosure () -> String
    ) {
        counts[file, default: 0] += 1
        guard counts[file, default: 0] <= Self.fileLimit else { return count(code, severity, in: file) }
        var line = line()
        if line == nil, files[file] != nil {
            // What concerns a whole file is said of its beginning.
            if pointer.isEmpty { line = 1 } else { pointed[file, default: []].append(problems.count) }
        }
        problems.append(
            DefinitionProblem(code, severity: severity, file: file, pointer: pointer, line: line, message()))
    }

    /// Counts a problem beyond the limit of its file. An error among them still prevents the deployment.
    private func count(_ code: DefinitionProblem.Code, _ severity: DefinitionProblem.Severity, in file: String) {
        guard let rest = rests[file] else {
            rests[file] = problems.count
            problems.append(DefinitionProblem(code, severity: severity, file: file, ""))
            return
        }
        if severity == .error, problems[rest].severity != .error {
            problems[rest].code = code
            problems[rest].severity = .error
        }
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
            for line in JSONPointer.lines(atOffsets: commas, in: text) {
                add(
                    .jsonTrailingComma, severity: .warning, file: file, line: line,
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
        var problems = problems
        for (file, places) in pointed {
            let lines = JSONPointer.lines(of: places.map { problems[$0].pointer }, in: files[file.text] ?? "")
            for (place, line) in zip(places, lines) { problems[place].line = line }
        }
        for (file, rest) in rests {
            let more = counts[file, default: 0] - Self.fileLimit
            problems[rest].message =
                "and \(more) more problems of this file (\(problems[rest].severity == .error ? "with errors" : "warnings only")): correct the others first"
        }
        let last = Set(rests.values)
        func line(_ problem: (offset: Int, element: DefinitionProblem)) -> Int {
            last.contains(problem.offset) ? .max : problem.element.line ?? 0
        }
        return problems.enumerated().map { ($0.offset, $0.element) }.sorted {
            ($0.1.file, line($0), $0.0) < ($1.1.file, line($1), $1.0)
        }.map(\.1)
    }
}

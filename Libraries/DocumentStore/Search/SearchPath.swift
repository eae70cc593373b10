import DocumentModel
import QueryLanguage

/// Where a search looks: some paths, or all texts of a document.
struct SearchPath: Sendable {
    /// `nil` for all texts.
    let paths: [String]?

    /// Reads a path, a list of paths, or `{wildcard: "*"}`; `{value: path}` is the same as the path.
    init(_ value: Value?, of name: String) throws(DocumentStoreError) {
        guard let value else { throw SearchError.wrong("\"\(name).path\" is required") }
        var paths: [String] = []
        for element in value.arrayValue ?? [value] {
            switch element {
            case .string(let path): paths.append(path)
            case .document(let options):
                if let wildcard = options["wildcard"]?.stringValue {
                    guard wildcard == "*" else {
                        throw SearchError.unsupported("a wildcard path other than \"*\" (\(wildcard))")
                    }
                    self.paths = nil
                    return
                }
                guard let path = options["value"]?.stringValue else {
                    throw SearchError.wrong(
                        "\"\(name).path\" must be a string, a document with \"wildcard\" or \"value\", or a list of them"
                    )
                }
                if options["multi"] != nil { throw SearchError.unsupported("\"\(name).path.multi\"") }
                paths.append(path)
            default: throw SearchError.wrong("\"\(name).path\" must be a string")
            }
        }
        guard !paths.isEmpty else { throw SearchError.wrong("\"\(name).path\" cannot be empty") }
        self.paths = paths
    }

    /// The paths as an SQL array of `jsonpath`.
    var sql: String {
        let all = paths.map { $0.map { "$" + IndexPredicate.steps(Path($0)) + "[*]" } } ?? ["$.**"]
        return "array[" + all.map { FilterTranslation.literal($0) }.joined(separator: ", ") + "]::jsonpath[]"
    }

    /// The SQL of the words at the paths.
    var vector: String { "partita.search_vector(document, \(sql))" }
    /// The SQL of the texts at the paths, as a set.
    var texts: String { "partita.search_texts(document, \(sql))" }
}

/// The errors of `$search`.
enum SearchError {
    static func wrong(_ message: String) -> DocumentStoreError {
        DocumentStoreError(.badFilter, "PlanExecutor error during aggregation :: caused by :: \(message)", mongoCode: 8)
    }

    static func unsupported(_ what: String) -> DocumentStoreError {
        DocumentStoreError(.notSupported, "$search: \(what) is not supported", mongoCode: 115)
    }
}

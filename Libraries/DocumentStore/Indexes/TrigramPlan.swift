import DocumentModel
import Postgres
import QueryLanguage
import RegularExpressions

/// How an index by trigrams finds the documents of a conjunction: by a text that a regular expression demands anywhere in a value.
struct TrigramPlan: Sendable {
    let index: CollectionIndex
    /// What the texts contain, apart from the case of letters.
    private let text: String

    /// The plan with the longest text; `nil` if no index helps.
    static func best(of indexes: [CollectionIndex], for nodes: [FilterNode], hint: String?) -> TrigramPlan? {
        var best: TrigramPlan?
        for index in indexes where hint == nil || hint.map(index.model.name.hasSameBytes) == true {
            guard let path = index.model.trigramPath else { continue }
            let texts = nodes.compactMap { text($0, at: path) }
            guard let text = texts.max(by: { $0.utf8.count < $1.utf8.count }),
                index.covers(nodes, PathConstraint.all(of: nodes))
            else { continue }
            if best.map({ $0.text.utf8.count < text.utf8.count }) ?? true {
                best = TrigramPlan(index: index, text: text)
            }
        }
        return best
    }

    /// The text that a conjunct demands at a path; `nil` if there is none that the index can search for.
    private static func text(_ node: FilterNode, at path: String) -> String? {
        guard case .field(let found, .regex(let regex)) = node, found.description.hasSameBytes(as: path),
            let required = RequiredText(of: regex.expression.pattern, options: regex.expression.options)
        else { return nil }
        let runs = required.text.unicodeScalars.split { !isSearchable($0) }.map { String(String.UnicodeScalarView($0)) }
        return runs.filter(hasTrigram).max { $0.utf8.count < $1.utf8.count }
    }

    /// Whether a character stands in the index as in the value: a text with U+0000 is indexed in its escaped form, and `pg_trgm` may
    /// change capitals beyond ASCII by what surrounds them.
    private static func isSearchable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\"", "\\", "\0"..."\u{1f}": false
        case "ſ", "\u{212a}": true
        default: scalar.isASCII || !scalar.properties.changesWhenLowercased
        }
    }

    /// Whether three letters or digits follow each other.
    private static func hasTrigram(_ text: String) -> Bool {
        text.unicodeScalars.split { !$0.properties.isAlphabetic && $0.properties.numericType == nil }
            .contains { $0.count >= 3 }
    }

    /// The condition as SQL.
    func condition(_ bind: (PostgresValue) -> String) -> String {
        var pattern = "%"
        for scalar in text.unicodeScalars {
            if scalar == "%" || scalar == "_" { pattern += "\\" }
            pattern.unicodeScalars.append(scalar)
        }
        let sql = "\(index.textsExpression) like partita.small_letters(\(bind(.text(pattern + "%"))))"
        return index.predicate.map { "\(sql) and (\($0))" } ?? sql
    }

    /// The operator class that such an index is made with, after its extension.
    static func operatorClass(on connection: some PostgresQuerying) async throws -> String {
        try await PostgresExtension.ensure("pg_trgm", for: "a trigram index", on: connection)
        let schemas = try await connection.query(
            """
            select quote_ident(n.nspname) from pg_opclass c join pg_namespace n on n.oid = c.opcnamespace
            where c.opcname = 'gin_trgm_ops'
            """)
        return "\(try schemas.decode(String.self).first ?? "public").gin_trgm_ops"
    }
}

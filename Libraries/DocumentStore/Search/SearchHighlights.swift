import DocumentModel
import Foundation
import QueryLanguage

/// `highlight`: the passages of a found document in which the words of the search occur.
struct SearchHighlights: Sendable {
    /// The most passages of one text.
    private let most: Int
    /// `nil` for all texts.
    private let paths: [Path]?
    private let terms: [SearchCompiler.Term]

    init(_ options: Document, terms: Set<SearchCompiler.Term>) throws(DocumentStoreError) {
        paths = try SearchPath(options["path"], of: "highlight").paths?.map { Path($0) }
        most = max(options["maxNumPassages"]?.intValue ?? 5, 1)
        self.terms = terms.map {
            var term = $0
            term.word = Self.folded(term.word)
            return term
        }
    }

    /// The highlights of a document: `[{path, texts: [{value, type}], score}]`.
    func value(of document: Document) -> Value {
        var texts: [(path: String, text: String)] = []
        for (path, text) in Self.texts(.document(document), at: "")
        where paths?.contains(where: { $0.description.hasSameBytes(as: path) }) ?? true {
            texts.append((path, text))
        }
        return .array(texts.flatMap { passages(of: $0.text, at: $0.path) })
    }

    /// The texts of a value with their paths.
    static func texts(_ value: Value, at path: String) -> [(path: String, text: String)] {
        switch value {
        case .string(let text): [(path, text)]
        case .array(let elements): elements.flatMap { texts($0, at: path) }
        case .document(let document):
            document.fields.flatMap { texts($0.value, at: path.isEmpty ? $0.key : "\(path).\($0.key)") }
        default: []
        }
    }

    /// The sentences of a text that have a match.
    private func passages(of text: String, at path: String) -> [Value] {
        var passages: [Value] = []
        var start = text.startIndex
        while start < text.endIndex, passages.count < most {
            let stop = text[start...].firstIndex { ".!?\n".contains($0) }.map { text.index(after: $0) } ?? text.endIndex
            if let (parts, hits) = marked(text[start..<stop]) {
                passages.append(["path": .string(path), "texts": .array(parts), "score": .double(Double(hits))])
            }
            start = stop
        }
        return passages
    }

    private func marked(_ sentence: Substring) -> (parts: [Value], hits: Int)? {
        var parts: [Value] = []
        var plain = ""
        var hits = 0
        var rest = sentence
        while let first = rest.first {
            guard first.isLetter || first.isNumber else {
                plain.append(first)
                rest = rest.dropFirst()
                continue
            }
            let word = rest.prefix { $0.isLetter || $0.isNumber }
            rest = rest[word.endIndex...]
            if isHit(String(word)) {
                if !plain.isEmpty { parts.append(["value": .string(plain), "type": "text"]) }
                plain = ""
                parts.append(["value": .string(String(word)), "type": "hit"])
                hits += 1
            } else {
                plain += word
            }
        }
        if !plain.isEmpty { parts.append(["value": .string(plain), "type": "text"]) }
        return hits == 0 ? nil : (parts, hits)
    }

    private func isHit(_ word: String) -> Bool {
        let word = Self.folded(word)
        return terms.contains { term in
            if term.word == word || term.isPrefix && word.hasPrefix(term.word) { return true }
            return term.edits > 0 && Self.distance(word, term.word) <= term.edits
        }
    }

    /// A text as Postgres compares it (`partita.folded`): in lower case and without accents.
    static func folded(_ text: String) -> String {
        let marks: ClosedRange<UInt32> = 0x300...0x36F
        let scalars = text.decomposedStringWithCompatibilityMapping.unicodeScalars.filter { !marks.contains($0.value) }
        return String(String.UnicodeScalarView(scalars)).lowercased()
    }

    /// The edit distance of two words, of which at most 100 letters are compared.
    private static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(100)), b = Array(b.prefix(100))
        var row = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var corner = row[0]
            row[0] = i + 1
            for (j, right) in b.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, corner + (left == right ? 0 : 1))
                corner = above
            }
        }
        return row[b.count]
    }
}

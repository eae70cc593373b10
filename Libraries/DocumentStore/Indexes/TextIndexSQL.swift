import DocumentModel

/// The words of a text index, as SQL.
struct TextIndexSQL: Sendable {
    /// The SQL of a document's `tsvector`.
    let vector: String
    /// The weights of the four classes of words, from D to A, as `ts_rank` takes them.
    let weights: [Double]
    /// JSON with the class of words by jsonpath.
    let fields: String
    /// The text search configuration of the index.
    let configuration: String

    /// Returns `nil` for an index that isn't a text index.
    init?(_ model: IndexModel) {
        guard let text = model.text else { return nil }
        configuration = TextLanguage.configuration(text.defaultLanguage) ?? "simple"
        // Postgres has four classes of words: the largest weights come first, and all remaining weights share the last class.
        let given = Set(model.keys.map { text.weights[$0.path] ?? 1 }).sorted(by: >)
        let classes = ["A", "B", "C", "D"]
        var fields = Document()
        for key in model.keys {
            let place = min(given.firstIndex(of: text.weights[key.path] ?? 1) ?? 0, 3)
            fields["$" + IndexPredicate.steps(Path(key.path)) + "[*]"] = .string(classes[place])
        }
        weights = (0..<4).reversed().map { place in
            let shown = given.indices.contains(place) ? given[place] : 0
            return place == 3 && given.count > 4 ? given[3...].reduce(0, +) / Double(given.count - 3) : shown
        }
        self.fields = FilterTranslation.literal(ExtendedJSON.print(.document(fields), mode: .relaxed)) + "::json"
        vector =
            "partita.text_vector(document, \(self.fields), "
            + "\(FilterTranslation.literal(configuration)), \(FilterTranslation.literal(text.languageOverride)))"
    }
}

/// MongoDB's names of languages.
enum TextLanguage {
    private static let names = [
        "none": "simple", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
        "de": "german",
        "hu": "hungarian", "it": "italian", "nb": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
        "es": "spanish", "sv": "swedish", "tr": "turkish",
    ]

    /// The text search configuration of a language; `nil` for one that isn't known.
    static func configuration(_ language: String) -> String? {
        let name = language.lowercased()
        return names[name] ?? (names.values.contains(name) ? name : nil)
    }
}

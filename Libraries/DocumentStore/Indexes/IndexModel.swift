public import DocumentModel

/// An index of a collection, as MongoDB's `createIndexes` describes it.
public struct IndexModel: Sendable, Hashable {
    /// How an index sorts the values at a path, or that it has their words.
    public enum Direction: Sendable, Hashable {
        case ascending
        case descending
        /// The words of a text.
        case text
        /// The places on the earth: `2dsphere`.
        case sphere
        /// The groups of three letters of a text, which find regular expressions anywhere in it: `trigram`. MongoDB has no such index.
        case trigram
    }

    /// One path of an index.
    public struct Key: Sendable, Hashable {
        @ExactText public var path: String
        public var direction: Direction

        public init(_ path: String, _ direction: Direction = .ascending) {
            self.path = path
            self.direction = direction
        }
    }

    /// The options of a text index.
    public struct TextOptions: Sendable, Hashable {
        /// The weight of a path's words, by path; 1 if none is given.
        public var weights: [ExactText: Double]
        /// The language whose rules reduce words to their stems; `none` for no stemming.
        @ExactText public var defaultLanguage: String
        /// The field of a document that names its language.
        @ExactText public var languageOverride: String

        public init(
            weights: [ExactText: Double] = [:], defaultLanguage: String = "english",
            languageOverride: String = "language"
        ) {
            self.weights = weights
            self.defaultLanguage = defaultLanguage
            self.languageOverride = languageOverride
        }
    }

    /// The paths, the most significant first.
    public var keys: [Key]
    /// The index's name, unique in the collection.
    @ExactText public var name: String
    /// Whether no two documents may have the same values.
    public var isUnique: Bool
    /// Whether documents that have none of the paths are left out.
    public var isSparse: Bool
    /// A filter for the documents that are in the index; `nil` for all documents.
    public var partialFilter: Document?
    /// How long after the date at its path a document is deleted.
    public var expireAfterSeconds: Int64?
    public var text: TextOptions?

    /// - Parameter name: `nil` makes MongoDB's default, such as `a_1_b_-1`.
    public init(
        _ keys: [Key], name: String? = nil, unique: Bool = false, sparse: Bool = false, partialFilter: Document? = nil,
        expireAfterSeconds: Int64? = nil, text: TextOptions? = nil
    ) {
        self.keys = keys
        self.name = name ?? keys.map { "\($0.path)_\($0.direction.text)" }.joined(separator: "_")
        isUnique = unique
        isSparse = sparse
        self.partialFilter = partialFilter
        self.expireAfterSeconds = expireAfterSeconds
        self.text = text ?? (keys.contains { $0.direction == .text } ? TextOptions() : nil)
    }

    /// The first path whose places on the earth the index is for; `nil` if there is none.
    ///
    /// Such an index is only recorded: it says which path `$geoNear` means, and is listed and exported. Postgres has none for it, so
    /// queries for places examine the whole collection.
    public var spherePath: String? { keys.first { $0.direction == .sphere }?.path }

    /// Whether the index sorts values, and doesn't only have their words, places or letters.
    var isSorted: Bool { keys.allSatisfy { $0.direction == .ascending || $0.direction == .descending } }

    /// The path whose trigrams the index has; `nil` for an index of another kind.
    public var trigramPath: String? { keys.first { $0.direction == .trigram }?.path }

    /// A sentence about what the index doesn't do, for who creates it; `nil` if there is nothing to say.
    public var note: String? {
        spherePath.map { "it is only recorded: queries for places at \($0) examine the whole collection" }
    }

    /// `{path: 1, other: -1}`.
    public var keyPattern: Document {
        var pattern = Document()
        for key in keys { pattern[key.path] = key.direction.value }
        return pattern
    }

    /// The index in the form of `listIndexes`.
    public var document: Document {
        var document: Document = ["v": 2, "key": .document(keyPattern), "name": .string(name)]
        if isUnique { document["unique"] = true }
        if isSparse { document["sparse"] = true }
        document["partialFilterExpression"] = partialFilter.map(Value.document)
        document["expireAfterSeconds"] = expireAfterSeconds.map { Int32(exactly: $0).map(Value.int32) ?? .int64($0) }
        if let text {
            var weights = Document()
            for key in keys where key.direction == .text {
                weights[key.path] = Self.number(text.weights[key.path] ?? 1)
            }
            document["weights"] = .document(weights)
            document["default_language"] = .string(text.defaultLanguage)
            document["language_override"] = .string(text.languageOverride)
        }
        if spherePath != nil { document["2dsphereIndexVersion"] = 3 }
        return document
    }

    /// Whether two indexes are the same except for their names.
    public func isEquivalent(to other: IndexModel) -> Bool {
        var renamed = other
        renamed.name = name
        return document == renamed.document
    }

    private static func number(_ weight: Double) -> Value { Int32(exactly: weight).map(Value.int32) ?? .double(weight) }
}

extension IndexModel.Direction {
    fileprivate var text: String {
        switch self {
        case .ascending: "1"
        case .descending: "-1"
        case .text: "text"
        case .sphere: "2dsphere"
        case .trigram: "trigram"
        }
    }

    fileprivate var value: Value {
        switch self {
        case .ascending: 1
        case .descending: -1
        case .text: "text"
        case .sphere: "2dsphere"
        case .trigram: "trigram"
        }
    }
}

public import DocumentModel
import QueryLanguage

extension IndexModel {
    /// The most paths of an index; more might not fit into Postgres' index rows.
    static let maximumKeys = 12

    /// Reads one of `createIndexes`' documents, also as a dump's metadata has them: `{key: {…}, name: …, unique: …}`.
    ///
    /// - Throws: `DocumentStoreError` with MongoDB's code; unsupported features (2d, hashed and wildcard indexes,
    ///   collations) are refused with an error that names them.
    public init(_ document: Document) throws(DocumentStoreError) {
        guard case .document(let pattern)? = document["key"], !pattern.isEmpty else {
            throw Self.wrong("The 'key' field is a required property of an index specification")
        }
        // A text index in a dump has its paths in the weights.
        let isDumpedText = pattern["_fts"]?.stringValue == "text"
        var keys: [Key] = []
        for field in pattern.fields where !isDumpedText || !["_fts", "_ftsx"].contains(field.key) {
            keys.append(Key(field.key, try Self.direction(field.value, at: field.key)))
        }
        if isDumpedText, case .document(let weights)? = document["weights"] {
            keys += weights.fields.map { Key($0.key, .text) }
        }
        var name: String?
        if let given = document["name"] { name = try Self.text(given, "name") }
        self.init(keys, name: name)
        for field in document.fields { try take(field.key, field.value) }
        try check()
    }

    private static func direction(_ value: Value, at path: String) throws(DocumentStoreError) -> Direction {
        if path == "$**" || path.hasSuffix(".$**") { throw unsupported("a wildcard index") }
        switch value {
        case .string("text"): return .text
        case .string("2dsphere"): return .sphere
        case .string("trigram"): return .trigram
        case .string(let kind): throw unsupported("an index of type \(kind)")
        default:
            guard let number = value.doubleValue, number != 0, !number.isNaN else {
                throw wrong("Values in v:2 index key pattern must be non-zero numbers or strings: \(path)", code: 67)
            }
            return number > 0 ? .ascending : .descending
        }
    }

    private mutating func take(_ option: String, _ value: Value) throws(DocumentStoreError) {
        switch option {
        case "key", "name", "v", "ns", "background", "textIndexVersion", "hidden": break
        case "unique": isUnique = try Self.flag(value, option)
        case "sparse": isSparse = try Self.flag(value, option)
        case "partialFilterExpression":
            guard case .document(let filter) = value else { throw Self.wrong("\(option) must be an object", code: 14) }
            partialFilter = filter
        case "expireAfterSeconds":
            guard let seconds = value.int64Value ?? value.doubleValue.flatMap({ Int64(exactly: $0.rounded()) }),
                (0...2_147_483_647).contains(seconds)
            else { throw Self.wrong("expireAfterSeconds must be within the range 0 to 2147483647") }
            expireAfterSeconds = seconds
        case "weights":
            guard text != nil, case .document(let weights) = value else {
                throw Self.wrong("the option 'weights' is for text indexes")
            }
            for field in weights.fields {
                guard let weight = field.value.doubleValue, (1...99_999).contains(weight) else {
                    throw Self.wrong("text index weight must be in the exclusive interval (0,100000)")
                }
                text?.weights[field.key] = weight
            }
        case "default_language": text?.defaultLanguage = try Self.text(value, option)
        case "language_override": text?.languageOverride = try Self.text(value, option)
        case "collation":
            if value["locale"]?.stringValue == "simple" { break }
            throw Self.unsupported("an index with a collation")
        case "2dsphereIndexVersion" where spherePath != nil:
            guard let version = value.intValue, (1...4).contains(version) else {
                throw Self.wrong("unsupported geo index version { 2dsphereIndexVersion : \(value) }")
            }
        case "wildcardProjection", "2dsphereIndexVersion", "bits", "min", "max", "bucketSize", "storageEngine":
            throw Self.unsupported("the index option \(option)")
        default:
            throw Self.wrong("The field '\(option)' is not valid for an index specification", code: 197)
        }
    }

    /// Reads a flag; old dumps have numbers for flags.
    private static func flag(_ value: Value, _ option: String) throws(DocumentStoreError) -> Bool {
        guard let flag = value.boolValue ?? value.doubleValue.map({ $0 != 0 }) else {
            throw wrong("The field '\(option)' must be a boolean", code: 14)
        }
        return flag
    }

    private static func text(_ value: Value, _ option: String) throws(DocumentStoreError) -> String {
        guard let text = value.stringValue else { throw wrong("The field '\(option)' must be a string", code: 14) }
        return text
    }

    /// Refuses indexes that aren't valid or aren't supported.
    func check() throws(DocumentStoreError) {
        if name.isEmpty || name.utf8.contains(0) || name.utf8.count > 120 || name == "*" {
            throw Self.wrong("The index name '\(name)' is not valid", code: 67)
        }
        if keys.isEmpty || keys.count > Self.maximumKeys {
            throw Self.unsupported("an index of more than \(Self.maximumKeys) paths")
        }
        var paths: Set<ExactText> = []
        for key in keys {
            let parts = key.path.splitAtBytes(".")
            if key.path.utf8.contains(0) || parts.contains(where: { $0.isEmpty || $0.startsWithBytes(of: "$") }) {
                throw Self.wrong(
                    "Index keys cannot be empty, nor contain a field that begins with '$': \(key.path)", code: 67)
            }
            if parts.contains(where: { Path.Component($0).index != nil }) {
                throw Self.unsupported("an index on a place in an array (\(key.path))")
            }
            if !paths.insert(key.path) {
                throw Self.wrong("the path \(key.path) is in the index twice", code: 67)
            }
        }
        if expireAfterSeconds != nil, keys.count != 1 || text != nil || keys[0].path == "_id" {
            throw Self.wrong("TTL indexes are single-field indexes, and not on _id", code: 67)
        }
        if text != nil, isUnique || keys.contains(where: { $0.direction != .text }) {
            throw Self.unsupported("a text index that is unique or has other paths")
        }
        if spherePath != nil, isUnique || expireAfterSeconds != nil {
            throw Self.unsupported("a 2dsphere index that is unique or expires documents")
        }
        if trigramPath != nil, keys.count > 1 || isUnique || expireAfterSeconds != nil || keys[0].path == "_id" {
            throw Self.unsupported("a trigram index on _id, with other paths, or that is unique or expires documents")
        }
        if isSparse, partialFilter != nil {
            throw Self.wrong("cannot mix \"partialFilterExpression\" and \"sparse\" options", code: 67)
        }
        _ = try IndexPredicate(self)
    }

    static func wrong(_ message: String, code: Int = 9) -> DocumentStoreError {
        DocumentStoreError(.badIndex, message, mongoCode: code)
    }

    static func unsupported(_ what: String) -> DocumentStoreError {
        DocumentStoreError(.notSupported, "\(what) is not supported", mongoCode: 115)
    }
}

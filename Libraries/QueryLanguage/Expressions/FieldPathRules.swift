import DocumentModel

extension Path {
    /// The names that may begin with `$` nevertheless: the parts of a DBRef.
    private static let references: Set<String> = ["$id", "$ref", "$db"]

    /// Parses a path of a stage, a projection or an expression, whose rules are stricter than those of a filter's path.
    ///
    /// - Throws: MongoDB's 40352 for an empty text, 40353 for a dot at its end, 15998 for an empty name, 16410 for a name that begins with
    ///   `$`, 16411 for one with NUL, 15 for more than 200 names.
    init(field text: some StringProtocol) throws(QueryError) {
        let text = String(text)
        guard let last = text.utf8.last else {
            throw QueryError(code: 40352, message: "FieldPath cannot be constructed with empty string")
        }
        guard last != UInt8(ascii: ".") else {
            throw QueryError(code: 40353, message: "FieldPath must not end with a '.'.")
        }
        self.init(text)
        guard components.count <= 200 else { throw QueryError(code: 15, message: "FieldPath is too long") }
        for component in components { try Self.check(field: component.name) }
    }

    /// Checks one name of such a path.
    static func check(field name: String) throws(QueryError) {
        guard !name.isEmpty else {
            throw QueryError(code: 15998, message: "FieldPath field names may not be empty strings.")
        }
        guard name.utf8.first != UInt8(ascii: "$") || references.contains(name) else {
            throw QueryError(
                code: 16410,
                message: "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
        }
        guard !name.utf8.contains(0) else {
            throw QueryError(code: 16411, message: "FieldPath field names may not contain '\\0'.")
        }
    }
}

import DocumentModel

/// A set of values, which keeps only the first of several values that count as equal.
struct ValueSet: Sendable, Equatable {
    private let collation: Collation?
    private var members: [Value: Value] = [:]

    init(_ elements: [Value] = [], _ collation: Collation?) {
        self.collation = collation
        for element in elements { insert(element) }
    }

    /// - Returns: whether it is new.
    @discardableResult
    mutating func insert(_ value: Value) -> Bool {
        let key = collation.key(of: value)
        guard members[key] == nil else { return false }
        members[key] = value
        return true
    }

    func contains(_ value: Value) -> Bool { members[collation.key(of: value)] != nil }

    /// The values in MongoDB's order, so that equal sets give the same array.
    var sorted: [Value] { members.values.sorted() }

    /// Whether both sets have the same values, as far as they count as equal.
    static func == (a: ValueSet, b: ValueSet) -> Bool { a.members.keys == b.members.keys }
}

import DocumentModel

/// Values of which those that count as equal are kept once: the first of them.
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

    /// The values in MongoDB's order, so that the same set always looks the same.
    var sorted: [Value] { members.values.sorted() }

    /// Whether both hold values that count as equal.
    static func == (a: ValueSet, b: ValueSet) -> Bool { a.members.keys == b.members.keys }
}

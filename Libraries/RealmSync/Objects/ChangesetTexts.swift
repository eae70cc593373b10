import DocumentModel

/// The texts of a changeset, each checked and decoded once. Shared by all of its edits, so that none copies the table.
final class ChangesetTexts {
    private let strings: InternStrings
    private var names: [ExactText?]

    init(_ strings: InternStrings) {
        self.strings = strings
        names = Array(repeating: nil, count: strings.ranges.count)
    }

    /// - Throws: ``ApplyError`` if it isn't UTF-8.
    func name(_ string: InternString) throws(ApplyError) -> ExactText {
        let index = Int(string.index)
        if let known = names[index] { return known }
        let name = ExactText(try text(strings.ranges[index]))
        names[index] = name
        return name
    }

    func text(_ range: BufferRange) throws(ApplyError) -> String {
        guard let text = String(validating: strings.bytes(range), as: UTF8.self) else {
            throw ApplyError(.badText, "a text isn't UTF-8")
        }
        return text
    }

    func bytes(_ range: BufferRange) -> [UInt8] { Array(strings.bytes(range)) }

    func id(_ key: PrimaryKey) throws(ApplyError) -> ObjectKey.Id {
        switch key {
        case .null: return .null
        case .int(let number): return .int(number)
        case .string(let string): return .string(try name(string))
        case .objectId(let id): return .objectId(id)
        case .uuid(let uuid): return .uuid(uuid)
        case .globalKey: throw ApplyError(.wrongType, "an object without a primary key")
        }
    }

    func key(_ table: InternString, _ key: PrimaryKey) throws(ApplyError) -> ObjectKey {
        ObjectKey(table: try name(table).text, id: try id(key))
    }
}

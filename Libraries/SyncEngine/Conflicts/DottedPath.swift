import DocumentModel

/// What a dotted path of an update refers to in the current document.
struct PathTarget {
    /// The path whose clock applies: the whole path, or its prefix up to the first array.
    var clockPath: String
    /// Whether it names an element of an existing array by index.
    var isIndexed = false
    /// Whether it selects array elements with a positional operator: `$[]`, `$[name]`.
    var isPositional = false
    /// The shortest prefix of the path that holds a value without fields, so that nothing can be set below it.
    var blockedBy: String?

    init(_ path: String, in document: Document) {
        let components = path.splitAtBytes(".")
        func beginning(_ count: Int) -> String { components.prefix(count).joined(separator: ".") }
        clockPath = path
        var value: Value? = .document(document)
        for (depth, component) in components.enumerated() {
            if component.startsWithBytes(of: "$") {
                clockPath = beginning(depth)
                isPositional = true
                return
            }
            switch value {
            case .document(let fields):
                // The value at the whole path isn't needed, and looking it up is slow in a document with many fields.
                value = depth < components.count - 1 ? fields[component] : nil
            case .array:
                clockPath = beginning(depth)
                // A later `$[…]` makes no difference: the index before it already selects an element by its position.
                isIndexed = component.utf8.allSatisfy { (0x30...0x39).contains($0) }
                return
            case nil: return
            default:
                blockedBy = beginning(depth)
                return
            }
        }
    }
}

extension Document {
    /// The value at a path of field names; `nil` when there is none, or when a value on the way isn't a document.
    func value(at path: some StringProtocol) -> Value? {
        var value = Value.document(self)
        for component in path.splitAtBytes(".") {
            guard case .document(let document) = value, let next = document[component] else { return nil }
            value = next
        }
        return value
    }

    /// Sets or removes the value at a path of field names. Setting replaces other values on the way with documents; removing a
    /// value that doesn't exist does nothing.
    mutating func set(_ value: Value?, at path: some StringProtocol) {
        guard let dot = path.utf8.firstIndex(of: 0x2E) else {
            self[String(path)] = value
            return
        }
        let key = String(path[..<dot])
        var child = Document()
        if case .document(let existing) = self[key] {
            child = existing
        } else if value == nil {
            return
        }
        child.set(value, at: path[path.utf8.index(after: dot)...])
        self[key] = .document(child)
    }
}

extension String {
    /// The rest of a path after a prefix and the dot that follows it.
    func utf8Suffix(after beginning: String) -> String {
        String(decoding: utf8.dropFirst(beginning.utf8.count + 1), as: UTF8.self)
    }
}

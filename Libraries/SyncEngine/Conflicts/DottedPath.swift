import DocumentModel

/// Where a dotted path of an update leads in a document as it is.
struct PathTarget {
    /// The path whose clock stands for it: the whole path, or its beginning up to the first array.
    var clockPath: String
    /// Whether it names an element of an existing array by index.
    var isIndexed = false
    /// Whether it names elements by what they are: `$[]`, `$[name]`.
    var isPositional = false
    /// The shortest beginning of the path that holds a value without fields, so that nothing can be set beneath it.
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
                // What the whole path leads to is nobody's question, and looking for it takes long among many fields.
                value = depth < components.count - 1 ? fields[component] : nil
            case .array:
                clockPath = beginning(depth)
                // A later `$[…]` doesn't help: the index before it already says which element is meant by place.
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
    /// The value at a path of field names; `nil` where there is none, or where something other than documents lies between.
    func value(at path: some StringProtocol) -> Value? {
        var value = Value.document(self)
        for component in path.splitAtBytes(".") {
            guard case .document(let document) = value, let next = document[component] else { return nil }
            value = next
        }
        return value
    }

    /// Sets or removes the value at a path of field names. Setting makes documents of what lies between; removing what isn't
    /// there does nothing.
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
    /// What follows a path's beginning and the dot after it.
    func utf8Suffix(after beginning: String) -> String {
        String(decoding: utf8.dropFirst(beginning.utf8.count + 1), as: UTF8.self)
    }
}

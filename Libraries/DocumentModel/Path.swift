/// A dotted path such as `address.lines.0`, split once and used often.
public struct Path: Hashable, Sendable, CustomStringConvertible {
    /// One part: the name of a field, which may also be an index into an array.
    public struct Component: Hashable, Sendable {
        public let name: String
        /// The name as an index, if it is a number without a sign or leading zeros.
        public let index: Int?

        /// A part with this name.
        public init(_ name: String) {
            self.name = name
            let digits = name.utf8
            let isNumber = !digits.isEmpty && digits.count < 10 && digits.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
            index = isNumber && (digits.count == 1 || digits.first != 0x30) ? Int(name) : nil
        }

        /// Compares the names' bytes.
        public static func == (a: Component, b: Component) -> Bool { a.name.hasSameBytes(as: b.name) }

        /// Hashes the name's bytes.
        public func hash(into hasher: inout Hasher) { hasher.combine(ExactText(name)) }
    }

    /// The parts in their order; at least one.
    public let components: [Component]

    /// The path with this text. An empty text is the path of the field with an empty name.
    public init(_ text: String) {
        components =
            text.utf8.contains(0x2E) ? text.splitAtBytes(".").map { Component($0) } : [Component(text)]
    }

    /// The path with these parts, of which there must be at least one.
    public init(components: some Sequence<Component>) { self.components = Array(components) }

    /// The dotted text.
    public var description: String {
        components.count == 1 ? components[0].name : components.map(\.name).joined(separator: ".")
    }

    /// The path above this one; `nil` for a path of one part.
    public var parent: Path? { components.count > 1 ? Path(components: components.dropLast()) : nil }

    /// Whether this path is the other one or above it.
    public func contains(_ other: Path) -> Bool {
        components.count <= other.components.count && zip(components, other.components).allSatisfy { $0 == $1 }
    }
}

extension Path: ExpressibleByStringLiteral {
    /// The path with this text.
    public init(stringLiteral value: String) { self.init(value) }
}

extension Value {
    /// The value at the path: fields of documents by name, elements of arrays by index.
    public func value(at path: some Collection<Path.Component>) -> Value? {
        guard let first = path.first else { return self }
        switch self {
        case .document(let document): return document.value(at: path)
        case .array(let elements):
            guard let index = first.index, index < elements.count else { return nil }
            return elements[index].value(at: path.dropFirst())
        default: return nil
        }
    }
}

extension Document {
    /// The value at the path: fields of documents by name, elements of arrays by index. The elements of arrays aren't searched.
    public func value(at path: Path) -> Value? { value(at: path.components) }

    func value(at path: some Collection<Path.Component>) -> Value? {
        guard let first = path.first, let index = index(of: first.name) else { return nil }
        return fields[index].value.value(at: path.dropFirst())
    }

    /// Sets a value and creates missing documents along the path; an array grows with nulls up to the index.
    /// - Returns: `false`, and nothing is changed, if a value along the path is neither a document nor an array, a name isn't an
    ///   index of the array that it refers to, or an index is more than 1,500,000 beyond an array's end.
    @discardableResult
    public mutating func set(_ value: Value, at path: Path) -> Bool { set(value, at: path.components[...]) }

    private mutating func set(_ value: Value, at path: ArraySlice<Path.Component>) -> Bool {
        guard let first = path.first else { return false }
        let rest = path.dropFirst()
        guard let index = index(of: first.name) else {
            fields.append(Field(first.name, Document.nest(value, under: rest)))
            return true
        }
        if rest.isEmpty { fields[index].value = value; return true }
        return fields[index].value.set(value, at: rest)
    }

    fileprivate static func nest(_ value: Value, under path: ArraySlice<Path.Component>) -> Value {
        path.reversed().reduce(value) { .document(Document(fields: [Field($1.name, $0)])) }
    }

    /// Removes the value at the path; an element of an array becomes null, as with `$unset`.
    /// - Returns: the removed value; `nil` if there was none.
    @discardableResult
    public mutating func remove(at path: Path) -> Value? { remove(at: path.components[...]) }

    private mutating func remove(at path: ArraySlice<Path.Component>) -> Value? {
        guard let first = path.first, let index = index(of: first.name) else { return nil }
        let rest = path.dropFirst()
        return rest.isEmpty ? fields.remove(at: index).value : fields[index].value.remove(at: rest)
    }
}

extension Value {
    private static var maximumGap: Int { 1_500_000 }

    fileprivate mutating func set(_ value: Value, at path: ArraySlice<Path.Component>) -> Bool {
        if var document = takeDocument() {
            let written = document.set(value, at: Path(components: path))
            self = .document(document)
            return written
        }
        guard let first = path.first, let index = first.index, var elements = takeArray() else { return false }
        defer { self = .array(elements) }
        let rest = path.dropFirst()
        if index < elements.count {
            if rest.isEmpty { elements[index] = value; return true }
            return elements[index].set(value, at: rest)
        }
        guard index - elements.count <= Self.maximumGap else { return false }
        elements.append(contentsOf: repeatElement(.null, count: index - elements.count))
        elements.append(Document.nest(value, under: rest))
        return true
    }

    fileprivate mutating func remove(at path: ArraySlice<Path.Component>) -> Value? {
        if var document = takeDocument() {
            defer { self = .document(document) }
            return document.remove(at: Path(components: path))
        }
        guard let first = path.first, let index = first.index, var elements = takeArray() else { return nil }
        defer { self = .array(elements) }
        guard index < elements.count else { return nil }
        if !path.dropFirst().isEmpty { return elements[index].remove(at: path.dropFirst()) }
        let old = elements[index]
        elements[index] = .null
        return old
    }
}

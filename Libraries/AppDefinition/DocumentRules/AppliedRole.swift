import DocumentModel

/// A role that applies to a document.
///
/// `read` or `write` of a level decides for everything below it; where it is absent, the level below decides. The permission to
/// write implies the one to read.
struct AppliedRole: Sendable {
    typealias Permissions = [ExactText: DocumentRole.FieldPermission]

    /// Stands for a field that the role doesn't name: no document has one of this name.
    static let unnamedField = "\0"

    let role: DocumentRole
    let context: RuleContext
    let request: RuleRequest

    /// The result of an expression; `nil` if there is no expression.
    func answer(_ expression: RuleExpression?, this: Value? = nil, previous: Value? = nil) async throws -> Bool? {
        guard let expression else { return nil }
        var context = context
        context.this = this
        context.previous = previous
        return try await request.holds(expression, in: context)
    }

    // MARK: Reading

    /// The permissions to read and write the whole document; each is `nil` if the role leaves it to the fields. The result is `nil`
    /// if the document filters make the document inaccessible.
    private func levels() async throws -> (read: Bool?, write: Bool?)? {
        let mayWrite = try await answer(role.writeFilter)
        if mayWrite == false, role.readFilter == nil { return nil }
        if mayWrite != true, try await answer(role.readFilter) == false { return nil }
        let read = try await answer(role.read)
        if read == true { return (true, nil) }
        return (read, mayWrite == false ? false : try await answer(role.write))
    }

    /// Whether the whole document may be read, whatever its content.
    var mayReadAll: Bool {
        get async throws {
            guard let (read, write) = try await levels() else { return false }
            return read == true || write == true
        }
    }

    /// Whether every value that a document has or could have at a path may be read.
    func mayRead(_ path: [String], of document: Document) async throws -> Bool {
        guard let (read, write) = try await levels() else { return false }
        if read == true || write == true { return true }
        return try await mayRead(path[...], in: .document(document), read, write)
    }

    /// The readable part of a document; `nil` if nothing may be read.
    func visible(_ document: Document, naming paths: NamedPaths, isSearch: Bool) async throws -> Document? {
        guard let (read, write) = try await levels() else { return nil }
        if isSearch, try await answer(role.search) == false { return nil }
        if read == true || write == true { return document }
        guard try await mayRead(paths, of: document, read, write) else { return nil }
        var shown = try await visible(document, by: role.fields, otherwise: role.additionalFields, read, write)
        if shown.fields.isEmpty { return nil }
        // The `_id` of a visible document isn't secret, unless the rules name it.
        if role.fields["_id"] == nil, shown["_id"] == nil, let id = document["_id"] {
            shown.fields.insert(.init("_id", id), at: 0)
        }
        return shown
    }

    private func visible(
        _ document: Document, by permissions: Permissions, otherwise: DocumentRole.FieldPermission?, _ read: Bool?,
        _ write: Bool?
    ) async throws -> Document {
        var shown = Document()
        for field in document.fields {
            guard let permission = permissions[field.key] ?? otherwise else { continue }
            let read = try await read.or { try await answer(permission.read, this: field.value, previous: field.value) }
            let write = try await write.or {
                try await answer(permission.write, this: field.value, previous: field.value)
            }
            if read == true || write == true {
                shown.fields.append(field)
            } else if let value = try await visible(field.value, by: permission.fields, read, write) {
                shown.fields.append(.init(field.key, value))
            }
        }
        return shown
    }

    /// The readable part of a value according to the permissions of its fields.
    private func visible(
        _ value: Value, by permissions: Permissions, _ read: Bool?, _ write: Bool?
    ) async throws -> Value? {
        if permissions.isEmpty { return nil }
        switch value {
        case .document(let document):
            let shown = try await visible(document, by: permissions, otherwise: nil, read, write)
            return shown.fields.isEmpty ? nil : .document(shown)
        case .array(let elements):
            var shown: [Value] = []
            for element in elements {
                if let value = try await visible(element, by: permissions, read, write) { shown.append(value) }
            }
            return shown.isEmpty ? nil : .array(shown)
        default: return nil
        }
    }

    /// Whether the fields that a query names may be read; otherwise the query's result would reveal their values. This includes
    /// fields that the document doesn't have, since their absence is information, too.
    private func mayRead(
        _ paths: NamedPaths, of document: Document, _ read: Bool?, _ write: Bool?
    ) async throws -> Bool {
        guard case .some(let paths) = paths else { return false }
        for path in paths where try await !mayRead(path[...], in: .document(document), read, write) { return false }
        return true
    }

    private func mayRead(
        _ path: ArraySlice<String>, in root: Value, _ read: Bool?, _ write: Bool?
    ) async throws -> Bool {
        guard let name = path.first, name != "_id" || role.fields["_id"] != nil else { return true }
        return try await mayRead(path, in: root, by: role.fields[name] ?? role.additionalFields, read, write)
    }

    /// - Parameter permission: that of the path's first part.
    private func mayRead(
        _ path: ArraySlice<String>, in root: Value?, by permission: DocumentRole.FieldPermission?, _ read: Bool?,
        _ write: Bool?
    ) async throws -> Bool {
        guard let name = path.first, let permission else { return false }
        if case .array(let elements)? = root, !elements.isEmpty {
            // Each element is shown or hidden by itself.
            for element in elements where try await !mayRead(path, in: element, by: permission, read, write) {
                return false
            }
            return true
        }
        let value = root?.documentValue?[name]
        let read = try await read.or { try await answer(permission.read, this: value, previous: value) }
        let write = try await write.or { try await answer(permission.write, this: value, previous: value) }
        if read == true || write == true { return true }
        // An array index counts hidden elements as well, so an index below a partly readable value isn't readable.
        let rest = path.dropFirst()
        return try await mayRead(rest, in: value, by: rest.first.flatMap { permission.fields[$0] }, read, write)
    }
}

extension Bool? {
    /// The result of the level above, or if it is `nil`, that of this level.
    func or(_ other: () async throws -> Bool?) async throws -> Bool? {
        if let self { return self }
        return try await other()
    }
}

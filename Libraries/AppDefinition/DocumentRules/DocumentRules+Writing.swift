public import DocumentModel

extension DocumentRules {
    /// Why a request may not make a write; `nil` if it may.
    ///
    /// Both the document before the write and the document after it need a role that lets the request write the changed fields.
    /// Expressions see the latter as `%%root` and the former as `%%prevRoot`. Those that don't use `%%prevRoot` must hold for both
    /// documents; otherwise users could take over a document by writing their own name into it.
    ///
    /// - Parameters:
    ///   - before: `nil` for an insert.
    ///   - after: `nil` for a delete.
    /// - Throws: the errors of calling a function.
    public func refusal(before: Document?, after: Document?, to request: RuleRequest) async throws -> RuleRefusal? {
        let write = DocumentWrite(before: before, after: after)
        guard let present = before ?? after else { return nil }
        let context = request.context(root: after ?? before, previous: before)
        let presentContext = before == nil ? context : request.context(root: present, previous: present)
        guard let role = try await role(for: presentContext, asking: request) else { return write.noRole }
        if let refusal = try await write.refusal(by: role, in: context, asking: request) { return refusal }
        guard before != nil, after != nil else { return nil }
        guard let later = try await self.role(for: context, asking: request) else { return write.noRole }
        return try await write.refusal(by: later, in: context, asking: request)
    }
}

/// One write of one document, as checked by a role.
private struct DocumentWrite {
    let before: Document?
    let after: Document?

    private var verb: String { before == nil ? "insert" : after == nil ? "delete" : "update" }

    var noRole: RuleRefusal { RuleRefusal("\(verb) not permitted: no matching role found for the document") }

    private func denied(_ role: DocumentRole, _ what: String) -> RuleRefusal {
        RuleRefusal("\(verb) not permitted: role '\(role.name)' may not \(what)")
    }

    func refusal(
        by applied: AppliedRole, in context: RuleContext, asking request: RuleRequest
    ) async throws -> RuleRefusal? {
        let role = AppliedRole(role: applied.role, context: context, request: request)
        guard try await allows(role.role.writeFilter, role) ?? true else {
            return denied(role.role, "write this document")
        }
        // Whether a document can be deleted must not reveal hidden fields, so fields that could be hidden count as present.
        if let before, after == nil, try await mayHide(in: before, role) {
            return denied(role.role, "delete what it may not read")
        }
        switch try await allows(role.role.write, role) {
        case true?: break
        case false?: return denied(role.role, "write this document")
        case nil:
            let field = try await deniedField(
                before ?? [:], after ?? [:], by: role.role.fields, otherwise: role.role.additionalFields, isTop: true,
                role)
            if let field { return denied(role.role, "write the field '\(field)'") }
        }
        if before == nil, try await role.answer(role.role.insert) == false { return denied(role.role, "insert") }
        if after == nil, try await role.answer(role.role.delete) == false { return denied(role.role, "delete") }
        return nil
    }

    /// Whether a document could have fields that its role may not read.
    private func mayHide(in document: Document, _ role: AppliedRole) async throws -> Bool {
        if try await role.mayReadAll { return false }
        let others = AppliedRole.unnamedField
        for key in role.role.fields.keys.sorted().map(\.text) + [others] where key != "_id" {
            if try await !role.mayRead([key], of: document) { return true }
        }
        return false
    }

    /// The result of an expression for the write and, unless the expression uses the previous state itself, for the document before
    /// the write.
    private func allows(
        _ expression: RuleExpression?, _ role: AppliedRole, this: Value? = nil, previous: Value? = nil
    ) async throws -> Bool? {
        guard let expression else { return nil }
        guard try await role.answer(expression, this: this, previous: previous) == true else { return false }
        guard let before, after != nil, !expression.looksAtPast else { return true }
        let past = AppliedRole(
            role: role.role, context: role.request.context(root: before, previous: before), request: role.request)
        return try await past.answer(expression, this: previous, previous: previous)
    }

    /// The first changed field that may not be changed.
    private func deniedField(
        _ before: Document, _ after: Document, by permissions: AppliedRole.Permissions,
        otherwise: DocumentRole.FieldPermission?, isTop: Bool, _ role: AppliedRole
    ) async throws -> String? {
        for key in Self.changedKeys(before, after) {
            // Each document has an `_id`, and it never changes.
            if isTop, key == "_id", permissions[key] == nil { continue }
            guard let permission = permissions[key] ?? otherwise else { return key }
            let (old, new) = (before[key], after[key])
            switch try await allows(permission.write, role, this: new, previous: old) {
            case true?: continue
            case false?: return key
            case nil:
                if let inner = try await deniedField(old, new, by: permission.fields, role) {
                    return inner.isEmpty ? key : "\(key).\(inner)"
                }
            }
        }
        return nil
    }

    /// The same for a path inside a value; empty for the value itself.
    private func deniedField(
        _ old: Value?, _ new: Value?, by permissions: AppliedRole.Permissions, _ role: AppliedRole
    ) async throws -> String? {
        if permissions.isEmpty { return "" }
        switch (old, new) {
        case (.document(let old)?, .document(let new)?):
            return try await deniedField(old, new, by: permissions, otherwise: nil, isTop: false, role)
        case (nil, .document(let new)?):
            return try await deniedField([:], new, by: permissions, otherwise: nil, isTop: false, role)
        case (.document(let old)?, nil):
            return try await deniedField(old, [:], by: permissions, otherwise: nil, isTop: false, role)
        case (.array(let old)?, .array(let new)?) where old.count == new.count:
            for (old, new) in zip(old, new) where !old.isIdentical(to: new) {
                if let inner = try await deniedField(old, new, by: permissions, role) { return inner }
            }
            return nil
        default: return ""
        }
    }

    private static func changedKeys(_ before: Document, _ after: Document) -> [String] {
        let removed = before.fields.map(\.key).filter { after[$0] == nil }
        let written = after.fields.filter { field in
            before[field.key].map { !$0.isIdentical(to: field.value) } ?? true
        }
        return removed + written.map(\.key)
    }
}

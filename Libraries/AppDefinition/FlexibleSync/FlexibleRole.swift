import DocumentModel

/// What a role of flexible sync grants, as rule expressions about a document. Roles stand in the sync configuration (`applyWhen`) or, in
/// later exports, in the collections' rules (`apply_when` with `document_filters`).
struct FlexibleRole {
    var appliesWhen: Value
    var read: Value
    var write: Value

    /// A role of the sync configuration. What it doesn't mention is denied.
    init(configured role: Value) {
        appliesWhen = role["applyWhen"] ?? role["apply_when"] ?? true
        let filters = role["document_filters"]
        read = Self.all([role["read"] ?? role["write"] ?? false] + [filters?["read"]].compactMap(\.self))
        write = Self.all(
            [role["write"] ?? false] + [filters?["write"], role["insert"], role["delete"]].compactMap(\.self))
        // What isn't known may restrict the role: it counts as a condition about the document, which no partition can have.
        for field in role.documentValue?.fields ?? [] where !Self.known.contains(field.key) {
            let condition = Value.document(Document([("%%root.\(field.key)", field.value)]))
            read = Self.all([read, condition])
            write = Self.all([write, condition])
        }
    }

    private static let known: Set<ExactText> = [
        "name", "applyWhen", "apply_when", "read", "write", "insert", "delete", "document_filters", "search",
    ]

    /// A role of a collection's rules. A device writes whole documents, so permissions of single fields grant it nothing.
    init(_ role: DocumentRole) {
        appliesWhen = role.applyWhen.source
        let write = role.write?.source ?? false
        let read = role.read?.source ?? write
        self.read = Self.all([read] + [role.readFilter?.source].compactMap(\.self))
        self.write = Self.all(
            [write] + [role.writeFilter?.source, role.insert?.source, role.delete?.source].compactMap(\.self))
    }

    /// The roles that apply to a collection; none if the app grants nothing.
    static func roles(
        of collection: CollectionDefinition, in node: Value, _ definition: AppDefinition
    ) -> [FlexibleRole] {
        // An empty list grants nothing.
        if let own = node["permissions"]?["rules"]?[collection.name]?.arrayValue {
            return own.map(FlexibleRole.init(configured:))
        }
        if let all = node["permissions"]?["defaultRoles"]?.arrayValue, !all.isEmpty {
            return all.map(FlexibleRole.init(configured:))
        }
        if let own = collection.rules?.roles, !own.isEmpty { return own.map(FlexibleRole.init) }
        let source = definition.dataSources.first { $0.name.hasSameBytes(as: collection.service) }
        return (source?.defaultRules?.roles ?? []).map(FlexibleRole.init)
    }

    /// An expression that holds if all of them do, in its shortest form.
    static func all(_ expressions: [Value]) -> Value {
        let rest = expressions.filter { !isAlways($0) }
        if rest.contains(false) { return false }
        return rest.isEmpty ? true : rest.count == 1 ? rest[0] : ["%and": .array(unique(rest))]
    }

    /// An expression that holds if one of them does, in its shortest form.
    static func any(_ expressions: [Value]) -> Value {
        let rest = expressions.filter { $0 != false }
        if rest.contains(where: isAlways) { return true }
        return rest.isEmpty ? false : rest.count == 1 ? rest[0] : ["%or": .array(unique(rest))]
    }

    static func isAlways(_ expression: Value) -> Bool {
        expression == true || expression == .document([:]) || expression == .document(["%%true": true])
    }

    private static func unique(_ expressions: [Value]) -> [Value] {
        expressions.reduce(into: []) { result, next in
            if !result.contains(next) { result.append(next) }
        }
    }
}

import DocumentModel
import DocumentSchema

/// A partition-based configuration that grants what an app's flexible sync granted.
struct PartitionProposal {
    let key: String
    let type: SyncConfiguration.PartitionType
    let read: Value
    let write: Value
    /// The names of the collections that sync by the key.
    let collections: [String]
    /// The names of the other collections of the database, which only the server has.
    let others: [String]

    /// - Returns: `nil` if the permissions of a collection depend on more than the key, or no collection has it as a scalar.
    init?(key: String, roles: [(collection: CollectionDefinition, roles: [FlexibleRole])]) {
        var read: [Value] = []
        var write: [Value] = []
        var types: [SyncConfiguration.PartitionType] = []
        var (collections, others): ([String], [String]) = ([], [])
        for (collection, roles) in roles {
            guard let type = Self.type(of: key, in: collection) else {
                others.append(collection.name)
                continue
            }
            let translation = PartitionTranslation(key: key)
            guard let reading = Self.permission(roles, \.read, translation),
                let writing = Self.permission(roles, \.write, translation)
            else { return nil }
            collections.append(collection.name)
            types.append(type)
            read.append(reading)
            write.append(writing)
        }
        guard let type = types.first, types.allSatisfy({ $0 == type }) else { return nil }
        self.key = key
        self.type = type
        // A partition has one permission for all collections: where they differ, all must hold.
        self.read = FlexibleRole.all(read)
        self.write = FlexibleRole.all(write)
        self.collections = collections
        self.others = others
    }

    /// The best proposal: the one with the most collections among the fields that the permissions compare with the user, and those by
    /// which devices may query.
    static func best(
        _ roles: [(collection: CollectionDefinition, roles: [FlexibleRole])], queryable: [String]
    ) -> PartitionProposal? {
        var fields: [String] = []
        for role in roles.flatMap(\.roles) {
            for expression in [role.appliesWhen, role.read, role.write] { collect(expression, into: &fields) }
        }
        let candidates = (fields + queryable.filter { !$0.hasSameBytes(as: "_id") }).reduce(into: [String]()) {
            if !$0.containsExactly($1) { $0.append($1) }
        }
        let proposals = candidates.compactMap { PartitionProposal(key: $0, roles: roles) }.filter { $0.read != false }
        return proposals.enumerated().max {
            ($0.element.collections.count, -$0.offset) < ($1.element.collections.count, -$1.offset)
        }?.element
    }

    /// The fields of documents that an expression compares with something of the user.
    private static func collect(_ expression: Value, into fields: inout [String]) {
        for field in expression.documentValue?.fields ?? [] {
            let name = String(field.key.dropFirst(field.key.hasPrefix("%%root.") ? "%%root.".count : 0))
            let isField = !name.hasPrefix("%") && !name.hasPrefix("$")
            if isField, ([field.value] + comparands(field.value)).contains(where: isOfUser) { fields.append(name) }
            for inner in field.value.arrayValue ?? [field.value] { collect(inner, into: &fields) }
        }
    }

    private static func isOfUser(_ value: Value) -> Bool { value.stringValue?.hasPrefix("%%user.") == true }

    /// What operators compare a field with: `{"$in": "%%user.custom_data.teams"}`.
    private static func comparands(_ value: Value) -> [Value] {
        (value.documentValue?.fields ?? []).filter { $0.key.hasPrefix("%") || $0.key.hasPrefix("$") }
            .flatMap { [$0.value] + ($0.value.arrayValue ?? []) }
    }

    /// The type of partitions if the field is the key; `nil` if the schema lacks the field, or it isn't a single value of such a type.
    private static func type(
        of key: String, in collection: CollectionDefinition
    ) -> SyncConfiguration.PartitionType? {
        guard let schema = collection.schema, schema.fieldNames.containsExactly(key),
            let types = schema.types(at: [key])
        else { return nil }
        if types == [.string] { return .string }
        if types == [.objectId] { return .objectId }
        if types == [.uuid] { return .uuid }
        return types.isSubset(of: [.int, .long]) ? .long : nil
    }

    /// The first role that applies decides: a later one counts where the earlier ones don't apply, or grant everything.
    private static func permission(
        _ roles: [FlexibleRole], _ kind: KeyPath<FlexibleRole, Value>, _ translation: PartitionTranslation
    ) -> Value? {
        var alternatives: [Value] = []
        var earlier: [Value] = []
        for role in roles {
            guard let applies = translation.expression(role.appliesWhen),
                let allowed = translation.expression(role[keyPath: kind])
            else { return nil }
            alternatives.append(FlexibleRole.all([applies, allowed] + earlier))
            if FlexibleRole.isAlways(applies) { break }
            if !FlexibleRole.isAlways(allowed) { earlier.append(["%not": applies]) }
        }
        return FlexibleRole.any(alternatives)
    }
}

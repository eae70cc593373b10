import DocumentModel

/// Names what rules ask of their context and never get: it counts as missing, so that what depends on it never holds.
struct RuleReferences {
    let log: ProblemLog
    let definition: AppDefinition

    /// The parts of a user.
    private static let partsOfUser: Set<ExactText> = ["id", "type", "data", "custom_data", "identities"]

    /// - Parameter absent: what rules at this place don't have.
    func check(_ rule: RuleExpression, file: String, without absent: Set<RuleExpansion.Root>) {
        var seen: Set<RuleExpansion> = []
        for expansion in rule.expansions where seen.insert(expansion).inserted {
            guard let reason = reason(expansion, absent) else { continue }
            // A bare name means a field of the document.
            let names = [expansion.text] + (expansion.root == .root ? [expansion.path.joined(separator: ".")] : [])
            log.add(
                .valueUnknown, severity: .warning, file: file,
                line: names.lazy.compactMap { log.line(of: "\"\($0)", in: file) }.first,
                "\(expansion.text) is always missing here: \(reason)")
        }
    }

    private func reason(_ expansion: RuleExpansion, _ absent: Set<RuleExpansion.Root>) -> String? {
        let name = expansion.path.first
        switch expansion.root {
        case let root where absent.contains(root):
            return RuleExpansion.Root.ofDocuments.contains(root)
                ? "these rules are about no document" : "rules at this place have no %%\(root.rawValue)"
        case .values:
            guard let name else { return nil }
            guard let value = definition.values.first(where: { $0.name.hasSameBytes(as: name) }) else {
                return "the app has no value of this name"
            }
            return value.isFromSecret ? "it is a secret, which rules can't read" : nil
        case .environment:
            guard let name else { return nil }
            if name.hasSameBytes(as: "tag") { return nil }
            guard name.hasSameBytes(as: "values") else { return "an environment has tag and values" }
            guard expansion.path.count > 1 else { return nil }
            let isThere = definition.environments.values.contains { $0[expansion.path[1]] != nil }
            return isThere ? nil : "no environment has a value of this name"
        case .user:
            guard let name, !Self.partsOfUser.contains(ExactText(name)) else { return nil }
            return "a user has id, type, data, custom_data and identities"
        default: return nil
        }
    }
}

extension DocumentRole {
    /// All expressions of the role.
    var rules: [RuleExpression] {
        let own = [applyWhen, read, write, insert, delete, search, readFilter, writeFilter].compactMap(\.self)
        return own + fields.values.flatMap(\.rules) + (additionalFields?.rules ?? [])
    }
}

extension DocumentRole.FieldPermission {
    fileprivate var rules: [RuleExpression] { [read, write].compactMap(\.self) + fields.values.flatMap(\.rules) }
}

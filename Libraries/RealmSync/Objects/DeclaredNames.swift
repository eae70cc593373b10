package import DocumentModel

/// The classes and properties that changesets add.
package struct DeclaredNames: Sendable {
    private(set) var classes: Set<ExactText> = []
    private(set) var properties: [ExactText: Set<ExactText>] = [:]

    package init() {}

    /// - Throws: ``ApplyError`` for names that aren't UTF-8.
    package mutating func take(_ changeset: Changeset) throws(ApplyError) {
        let texts = ChangesetTexts(changeset.strings)
        for instruction in changeset.instructions {
            switch instruction {
            case .addTable(let table, _): classes.insert(try texts.name(table))
            case .addColumn(let table, let field, _):
                properties[try texts.name(table), default: []].insert(try texts.name(field))
            default: break
            }
        }
    }
}

extension ObjectSchema {
    /// The classes and properties of names, of some tables everything, and what of embedded objects these need.
    package func part(_ names: DeclaredNames, tables: Set<ExactText>) -> ObjectSchema {
        var part = ObjectSchema()
        for name in names.classes.union(names.properties.keys).union(tables) {
            guard let type = classes[name] else { continue }
            var taken = Class(key: type.key)
            let wanted = names.properties[name] ?? []
            taken.properties =
                tables.contains(name) ? type.properties : type.properties.filter { wanted.contains($0.key) }
            part.classes[name] = taken
        }
        var open = Array(part.classes.keys)
        while let name = open.popLast() {
            for property in part.classes[name]?.properties.values ?? [:].values {
                guard let target = property.target, let type = embedded(in: property), part.classes[target] == nil
                else { continue }
                part.classes[target] = type
                open.append(target)
            }
        }
        return part
    }
}

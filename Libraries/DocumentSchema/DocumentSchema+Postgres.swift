public import DocumentModel
import RegularExpressions

/// The form of a schema with which Postgres checks documents that are written by SQL.
extension DocumentSchema {
    /// A regular expression that Postgres can't express, and its JSON pointer.
    public struct UncheckablePattern: Hashable, Sendable {
        @ExactText public private(set) var pointer: String
        @ExactText public private(set) var source: String
    }

    /// The regular expressions that Postgres can't match: a value that is written by SQL and would have to match one is refused.
    public var patternsBeyondPostgres: [UncheckablePattern] {
        var found: [UncheckablePattern] = []
        collect(.document(source), at: "", isNode: true, &found)
        return found
    }

    private func collect(_ value: Value, at pointer: String, isNode: Bool, _ found: inout [UncheckablePattern]) {
        switch value {
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                collect(element, at: "\(pointer)/\(index)", isNode: true, &found)
            }
        case .document(let document):
            for field in document.fields {
                let place = pointer + "/" + JSONPointer.escape(field.key)
                guard isNode else {
                    collect(field.value, at: place, isNode: true, &found)
                    continue
                }
                switch (field.key, field.value) {
                case ("pattern", .string(let text)):
                    if PostgresPattern.translating(text) == nil { found.append(.init(pointer: place, source: text)) }
                case ("patternProperties", .document(let properties)):
                    for name in properties.fields.map(\.key) where PostgresPattern.translating(name) == nil {
                        found.append(.init(pointer: place + "/" + JSONPointer.escape(name), source: name))
                    }
                    collect(field.value, at: place, isNode: false, &found)
                case ("properties", _), ("dependencies", _): collect(field.value, at: place, isNode: false, &found)
                case ("enum", _), ("default", _), ("examples", _): break  // values
                default: collect(field.value, at: place, isNode: true, &found)
                }
            }
        default: break
        }
    }

    /// The form that `partita.schema_violation` reads: each level has the schema's keywords with the same names, each in a single
    /// form, and regular expressions in Postgres' syntax.
    public var postgresForm: Document {
        var form = Self.form(root)
        form["form"] = "2"  // distinguishes it from the form that older versions wrote
        return form
    }

    private static func form(_ node: SchemaNode) -> Document {
        var form = Document()
        var all: [Value] = []
        for rule in node.rules {
            switch rule {
            case .types(let types): form["bsonType"] = .array(types.map(\.rawValue).sorted().map { .string($0) })
            case .exactTypes: break  // only in queries, which Postgres doesn't check
            case .enumeration(let values, _): form["enum"] = .array(values)
            case .fields(let fields):
                form["properties"] = .document(
                    Document(fields: fields.properties.map { .init($0.name, .document(Self.form($0.node))) }))
                form["patternProperties"] = .array(
                    fields.patterns.map { [self.form($0.0), .document(Self.form($0.1))] })
                form["required"] = .array(fields.required.map { .string($0) })
                form["additionalProperties"] = Self.form(fields.additional)
            case .fieldCount(let range): set("Properties", range, &form)
            case .dependencies(let dependencies):
                form["dependencies"] = .array(
                    dependencies.map { name, dependency in
                        switch dependency {
                        case .fields(let names): [.string(name), .array(names.map { .string($0) })]
                        case .node(let node): [.string(name), .document(Self.form(node))]
                        }
                    })
            case .items(let node): form["items"] = .document(Self.form(node))
            case .tuple(let nodes, let additional):
                form["items"] = .array(nodes.map { .document(Self.form($0)) })
                form["additionalItems"] = Self.form(additional)
            case .itemCount(let range): set("Items", range, &form)
            case .uniqueItems: form["uniqueItems"] = true
            case .length(let range): set("Length", range, &form)
            case .pattern(let pattern): form["pattern"] = self.form(pattern)
            case .minimum(let bound, let isExclusive):
                form["minimum"] = bound
                form["exclusiveMinimum"] = .bool(isExclusive)
            case .maximum(let bound, let isExclusive):
                form["maximum"] = bound
                form["exclusiveMaximum"] = .bool(isExclusive)
            case .multipleOf(let divisor): form["multipleOf"] = divisor
            case .allOf(let nodes): all += nodes.map { .document(Self.form($0)) }
            case .anyOf(let nodes): form["anyOf"] = .array(nodes.map { .document(Self.form($0)) })
            case .oneOf(let nodes): form["oneOf"] = .array(nodes.map { .document(Self.form($0)) })
            case .not(let node): form["not"] = .document(Self.form(node))
            }
        }
        if !all.isEmpty { form["allOf"] = .array(all) }
        return form
    }

    private static func form(_ additional: SchemaRule.Additional) -> Value {
        switch additional {
        case .allowed: true
        case .forbidden: false
        case .matching(let node): .document(form(node))
        }
    }

    /// The pattern as it was written, and in Postgres' syntax, or null.
    private static func form(_ pattern: SchemaRule.Pattern) -> Value {
        [.string(pattern.source), PostgresPattern.translating(pattern.source).map { .string($0) } ?? .null]
    }

    private static func set(_ what: String, _ range: ClosedRange<Int>, _ form: inout Document) {
        if range.lowerBound > 0 { form["min" + what] = .integer(range.lowerBound) }
        if range.upperBound < Int.max { form["max" + what] = .integer(range.upperBound) }
    }
}

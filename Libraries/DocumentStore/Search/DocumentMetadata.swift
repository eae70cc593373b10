import DocumentModel

/// Metadata of a found document (`$meta`). It is carried through a pipeline in fields whose names no query can contain, and removed
/// at the end.
enum DocumentMetadata: String, CaseIterable {
    case textScore
    case searchScore
    case searchHighlights

    /// The name of the field that carries it.
    var field: String { "\u{1}\(rawValue)" }

    /// The metadata that `{$meta: name}` asks for; `nil` for any other value.
    static func asked(_ value: Value) -> DocumentMetadata? {
        guard case .document(let document) = value, document.count == 1, let name = document["$meta"]?.stringValue
        else {
            return nil
        }
        return DocumentMetadata(rawValue: name)
    }

    /// A stage with each `{$meta: …}` replaced by the field that carries it.
    static func rewritten(_ stage: Document) -> Document {
        var stage = stage
        for index in stage.fields.indices {
            switch (stage.fields[index].key, stage.fields[index].value) {
            case ("$sort", .document(let order)):
                // A sort by `$meta` puts the highest score first, whatever the field is called.
                var rewritten = Document()
                for field in order.fields {
                    if let metadata = asked(field.value) {
                        rewritten[metadata.field] = -1
                    } else {
                        rewritten[field.key] = field.value
                    }
                }
                stage.fields[index].value = .document(rewritten)
            case ("$project", .document(let projection)):
                var rewritten = replaced(.document(projection)).documentValue ?? projection
                // An inclusion also keeps the metadata that later stages may ask for.
                if isInclusion(projection) { for metadata in allCases { rewritten[metadata.field] = 1 } }
                stage.fields[index].value = .document(rewritten)
            case ("$facet", .document(let facets)):
                var rewritten = facets
                for place in rewritten.fields.indices {
                    let stages = rewritten.fields[place].value.arrayValue ?? []
                    rewritten.fields[place].value = .array(
                        stages.map { $0.documentValue.map { .document(Self.rewritten($0)) } ?? $0 })
                }
                stage.fields[index].value = .document(rewritten)
            default: stage.fields[index].value = replaced(stage.fields[index].value)
            }
        }
        return stage
    }

    private static func isInclusion(_ projection: Document) -> Bool {
        projection.fields.contains { field in
            guard field.key != "_id" else { return false }
            switch field.value {
            case .bool(let flag): return flag
            default: return field.value.doubleValue.map { $0 != 0 } ?? true
            }
        }
    }

    private static func replaced(_ value: Value) -> Value {
        if let metadata = asked(value) { return .string("$" + metadata.field) }
        switch value {
        case .document(let document):
            return .document(
                Document(document.fields.map { ($0.key, $0.key == "$literal" ? $0.value : replaced($0.value)) }))
        case .array(let elements): return .array(elements.map(replaced))
        default: return value
        }
    }

    /// The document without the fields that carry metadata.
    static func stripped(_ document: Document) -> Document {
        var document = document
        document.fields.removeAll { $0.key.utf8.first == 1 }
        for index in document.fields.indices { document.fields[index].value = stripped(document.fields[index].value) }
        return document
    }

    private static func stripped(_ value: Value) -> Value {
        switch value {
        case .document(let document): .document(stripped(document))
        case .array(let elements): .array(elements.map(stripped))
        default: value
        }
    }
}

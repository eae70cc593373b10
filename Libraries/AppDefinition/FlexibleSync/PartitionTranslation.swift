import DocumentModel

/// Translates rule expressions about a document into expressions about its partition, where one of its fields is the partition key.
struct PartitionTranslation {
    /// The field whose value is the partition.
    let key: String

    /// The expression with the partition in place of the key; `nil` if it depends on anything else in the document.
    func expression(_ value: Value) -> Value? {
        guard case .document(let document) = value else { return value.boolValue.map { .bool($0) } }
        var parts: [Value] = []
        for field in document.fields {
            guard let part = part(field) else { return nil }
            parts.append(part)
        }
        return parts.count == 1 ? parts[0] : FlexibleRole.all(parts)
    }

    private func part(_ field: Document.Field) -> Value? {
        if Self.logical.contains(field.key) {
            return combined(field).map { .document(Document([(field.key, $0)])) }
        }
        guard let subject = subject(field.key), let value = operand(field.value) else { return nil }
        return .document(Document([(subject, value)]))
    }

    /// The operators whose operands are expressions, which have fields of the document as names.
    private static let logical: Set<ExactText> = ["%or", "$or", "%and", "$and", "%nor", "$nor", "%not", "$not"]

    private func combined(_ field: Document.Field) -> Value? {
        guard let items = field.value.arrayValue else { return expression(field.value) }
        let translated = items.compactMap(expression)
        return translated.count == items.count ? .array(translated) : nil
    }

    private func subject(_ name: String) -> String? {
        if isKey(name) { return "%%partition" }
        guard name.startsWithBytes(of: "%"), !isOfDocument(name) else { return nil }
        return name
    }

    private func operand(_ value: Value) -> Value? {
        switch value {
        case .string(let text):
            if text.startsWithBytes(of: "%%"), isKey(text) { return "%%partition" }
            return isOfDocument(text) ? nil : value
        case .array(let items):
            let translated = items.compactMap(operand)
            return translated.count == items.count ? .array(translated) : nil
        case .document(let document):
            // An expression in place of a value: its names are fields of the document, too.
            if document.fields.contains(where: { $0.key.startsWithBytes(of: "%%") }) { return expression(value) }
            var result = Document()
            for field in document.fields {
                if Self.logical.contains(field.key) {
                    guard let inner = combined(field) else { return nil }
                    result[field.key] = inner
                    continue
                }
                guard let inner = operand(field.value), !isOfDocument(field.key) else { return nil }
                result[field.key] = inner
            }
            return .document(result)
        default: return value
        }
    }

    private func isKey(_ name: String) -> Bool {
        name.hasSameBytes(as: key) || name.hasSameBytes(as: "%%root.\(key)")
    }

    /// Whether a name stands for the document, or its state before the change.
    private func isOfDocument(_ name: String) -> Bool {
        ["%%root", "%%prev", "%%this"].contains { name.startsWithBytes(of: $0) }
    }
}

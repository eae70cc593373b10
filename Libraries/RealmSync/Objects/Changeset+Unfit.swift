import DocumentModel

extension Changeset {
    /// Why no document can have a value that the changeset writes; `nil` if documents can have all of them.
    ///
    /// A decimal has at most 34 digits and a point in time is in milliseconds of 64 bits, while a changeset has more room. In a mixed value
    /// a document of `$ref` and `$id` is a link, so that no dictionary can have the former.
    /// - Throws: ``ApplyError`` for names that aren't UTF-8.
    public func unfit(in schema: ObjectSchema) throws(ApplyError) -> String? {
        let texts = ChangesetTexts(strings)
        for case .edit(let path, let edit) in instructions {
            switch edit.payload {
            case .decimal(let number) where !number.isCanonical:
                return "a decimal has more than 34 digits, or too large an exponent"
            case .timestamp(let time) where !time.hasMilliseconds: return "a date is too far away"
            default: break
            }
            guard case .key(let key)? = path.elements.last, try texts.name(key) == "$ref" else { continue }
            let property = schema.classes[try texts.name(path.table)]?.properties[try texts.name(path.field)]
            if path.elements.count == 1, property?.collection == .dictionary { continue }
            return "a dictionary in a mixed value can't have the key $ref, which is a link's"
        }
        return nil
    }
}

extension Edit {
    /// The value that it writes.
    fileprivate var payload: Payload? {
        switch self {
        case .update(let payload, _), .updateElement(let payload, _), .arrayInsert(let payload, _),
            .setInsert(let payload):
            payload
        case .addInteger, .arrayMove, .arrayErase, .clear, .setErase: nil
        }
    }
}

extension Decimal128 {
    /// Whether its parts make the same bits again (IEEE 754-2019, 3.5.2): others count as zero.
    fileprivate var isCanonical: Bool {
        guard case .finite(let negative, let coefficient, let exponent) = parts else { return true }
        return Decimal128(negative: negative, coefficient: coefficient, exponent: exponent) == self
    }
}

extension RealmTimestamp {
    /// Whether milliseconds since 1970 have 64 bits.
    fileprivate var hasMilliseconds: Bool { (.min / 1000 + 1)...(.max / 1000 - 1) ~= seconds }
}

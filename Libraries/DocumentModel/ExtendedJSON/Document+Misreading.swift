extension Document {
    /// The deepest nesting of a stored document, including itself.
    public static let maximumDepth = 100

    /// The first field of this document (not of embedded documents) that causes its text to be read as a value of another type, or
    /// not at all, as in `{"$numberInt": "9"}` and `{"$date": "never"}`: Extended JSON has no other text for such a document. A
    /// field that would have this effect if it came first counts too, since the fields before it may be removed.
    public var misreadField: String? {
        var hasDollar = false
        for field in fields where field.key.utf8.first == UInt8(ascii: "$") {
            if TypeWrapper.names.contains(ExactText(field.key)) { return field.key }
            hasDollar = true
        }
        guard hasDollar else { return nil }
        // `$type`, `$regex` and `$options` are also operators: they are a type only in combination.
        let isType = (try? TypeWrapper(fields: fields, offset: 0).value()) != nil
        return isType ? fields.first?.key : nil
    }
}

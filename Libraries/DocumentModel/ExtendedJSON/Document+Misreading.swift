extension Document {
    /// The deepest nesting of a document that is stored, itself included.
    public static let maximumDepth = 100

    /// The first field of this document, apart from those of documents in it, that makes its text read as a value of another type or
    /// not at all, as `{"$numberInt": "9"}` and `{"$date": "never"}` do: Extended JSON has no other text for such a document. A field
    /// that would do so if it came first counts too, since those before it may go.
    public var misreadField: String? {
        var hasDollar = false
        for field in fields where field.key.utf8.first == UInt8(ascii: "$") {
            if TypeWrapper.names.contains(ExactText(field.key)) { return field.key }
            hasDollar = true
        }
        guard hasDollar else { return nil }
        // `$type`, `$regex` and `$options`, which also are operators: only together they are a type.
        let isType = (try? TypeWrapper(fields: fields, offset: 0).value()) != nil
        return isType ? fields.first?.key : nil
    }
}

extension Document {
    /// Takes over fields one after the other, also many: a key that is there already gets the new value in its place.
    public mutating func merge(_ others: some Sequence<Field>) {
        var seen = SeenKeys()
        var merged: [Field] = []
        merged.reserveCapacity(fields.count)
        for field in fields {
            _ = merged.withUnsafeBufferPointer { seen.place(of: field.key, in: $0) }
            merged.append(field)
        }
        for field in others {
            if let place = merged.withUnsafeBufferPointer({ seen.place(of: field.key, in: $0) }) {
                merged[place].value = field.value
            } else {
                merged.append(field)
            }
        }
        fields = merged
    }
}

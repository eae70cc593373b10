extension Document {
    /// Sets fields one after the other, efficiently also if there are many: an existing key gets the new value and keeps its place.
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

/// Finds repeated keys without comparing each key with all before it: by a 64-bit filter in small documents, by a dictionary in
/// large ones.
struct SeenKeys {
    private var filter: UInt64 = 0
    private var places: [ExactText: Int] = [:]

    /// The place of this key among the document's fields so far; if it is new, the key is remembered and the result is `nil`.
    @inline(__always)
    mutating func place(of key: String, in fields: UnsafeBufferPointer<Document.Field>) -> Int? {
        var text = key
        return text.withUTF8 { place(of: key, bytes: $0, in: fields) }
    }

    /// The same for a key whose bytes are available.
    @inline(__always)
    mutating func place(
        of key: String, bytes: UnsafeBufferPointer<UInt8>, in fields: UnsafeBufferPointer<Document.Field>
    ) -> Int? {
        if fields.count >= 32 { return placeInLarge(key, fields) }
        let count = bytes.count
        let sample = count == 0 ? 0 : UInt64(bytes[0]) &* 7 ^ UInt64(bytes[count &- 1]) &* 31 ^ UInt64(count) &* 13
        let bit: UInt64 = 1 << (sample & 63)
        let mayBePresent = filter & bit != 0
        filter |= bit
        return mayBePresent ? search(key, fields) : nil
    }

    @inline(never)
    private func search(_ key: String, _ fields: UnsafeBufferPointer<Document.Field>) -> Int? {
        fields.firstIndex { $0.key.hasSameBytes(as: key) }
    }

    @inline(never)
    private mutating func placeInLarge(_ key: String, _ fields: UnsafeBufferPointer<Document.Field>) -> Int? {
        if places.isEmpty { for (index, field) in fields.enumerated() { places[ExactText(field.key)] = index } }
        let name = ExactText(key)
        if let place = places[name] { return place }
        places[name] = fields.count
        return nil
    }
}

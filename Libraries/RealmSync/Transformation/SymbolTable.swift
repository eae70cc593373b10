/// Gives the strings and objects of all changesets of a merge numbers, so that the rules compare numbers.
struct SymbolTable {
    private var strings: [Bytes: UInt32] = [:]
    private var objects: [ObjectIdentity: Int] = [:]
    /// The bytes of all strings that were looked up.
    private(set) var lookedUpBytes = 0

    /// Bytes that are hashed at once; an array hashes each by itself.
    private struct Bytes: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    private struct ObjectIdentity: Hashable {
        let table: UInt32
        let key: PrimaryKey
    }

    /// How many objects have numbers; these are 0 and up.
    var objectCount: Int { objects.count }

    /// The number of a string.
    mutating func symbol(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        lookedUpBytes += bytes.count
        let next = UInt32(strings.count)
        return { (known: inout UInt32?) in
            if let known { return known }
            known = next
            return next
        }(&strings[Bytes(bytes: bytes)])
    }

    /// The number of an object.
    /// - Parameter key: With the symbol of a string in place of its number in a table.
    mutating func object(table: UInt32, key: PrimaryKey) -> Int {
        let next = objects.count
        return { (known: inout Int?) in
            if let known { return known }
            known = next
            return next
        }(&objects[ObjectIdentity(table: table, key: key)])
    }
}

extension String {
    /// Whether a name may be a misspelling of another one: one letter too many, too few or wrong, two swapped letters, or a
    /// difference in case or `_`. Names of fewer than three letters match only if they differ in case or `_`.
    public func isAlmost(_ other: String) -> Bool {
        let (a, b) = (Self.folded(self), Self.folded(other))
        if a == b { return true }
        guard abs(a.count - b.count) <= 1, min(a.count, b.count) >= 3 else { return false }
        let start = zip(a, b).prefix { $0 == $1 }.count
        let (restA, restB) = (Array(a[start...]), Array(b[start...]))
        if restA.count > restB.count { return restA.dropFirst().elementsEqual(restB) }
        if restA.count < restB.count { return restB.dropFirst().elementsEqual(restA) }
        if restA.dropFirst().elementsEqual(restB.dropFirst()) { return true }
        return restA.prefix(2).elementsEqual(restB.prefix(2).reversed())
            && restA.dropFirst(2).elementsEqual(restB.dropFirst(2))
    }

    private static func folded(_ name: String) -> [UInt8] { name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") } }
}

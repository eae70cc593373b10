import DocumentModel

/// Finds names of settings that were meant to be others: what nobody reads, and is almost what somebody asked for in vain. A setting that
/// is passed over in silence opens doors (`"disabeld": true`).
struct Misspellings {
    private struct Place: Hashable {
        @ExactText var file: String
        @ExactText var pointer: String
        @ExactText var name: String
    }

    private var asked: Set<Place> = []
    /// Names that stand there, by the name that was asked for and doesn't.
    private var candidates: [(place: Place, meant: String)] = []

    /// Somebody reads a field of an object.
    mutating func asked(for name: String, of object: Document, file: String, pointer: String) {
        guard asked.insert(Place(file: file, pointer: pointer, name: name)).inserted, object[name] == nil else {
            return
        }
        for field in object.fields where Self.isNear(field.key, name) {
            candidates.append((Place(file: file, pointer: pointer, name: field.key), name))
        }
    }

    /// What was found, once everything is read.
    var found: [(file: String, pointer: String, name: String, meant: String)] {
        candidates.filter { !asked.contains($0.place) }.map {
            ($0.place.file, $0.place.pointer, $0.place.name, $0.meant)
        }
    }

    /// Whether one letter too many, too few or wrong, or two that are swapped, make one of the other; also for two words that differ in
    /// case or in `_` only.
    static func isNear(_ a: String, _ b: String) -> Bool {
        let (a, b) = (plain(a), plain(b))
        if a == b { return true }
        guard abs(a.count - b.count) <= 1, min(a.count, b.count) >= 3 else { return false }
        let start = zip(a, b).prefix { $0 == $1 }.count
        let (restA, restB) = (a[start...], b[start...])
        let same = { (x: ArraySlice<UInt8>, y: ArraySlice<UInt8>) in x.elementsEqual(y) }
        if restA.count == restB.count {
            let isSwapped = restA.count >= 2 && same(restA.prefix(2), ArraySlice(restB.prefix(2).reversed()))
            return same(restA.dropFirst(), restB.dropFirst())
                || isSwapped && same(restA.dropFirst(2), restB.dropFirst(2))
        }
        return restA.count > restB.count ? same(restA.dropFirst(), restB) : same(restA, restB.dropFirst())
    }

    private static func plain(_ name: String) -> [UInt8] { name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") } }
}

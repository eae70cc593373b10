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
        for field in object.fields where field.key.isAlmost(name) {
            candidates.append((Place(file: file, pointer: pointer, name: field.key), name))
        }
    }

    /// What was found, once everything is read.
    var found: [(file: String, pointer: String, name: String, meant: String)] {
        candidates.filter { !asked.contains($0.place) }.map {
            ($0.place.file, $0.place.pointer, $0.place.name, $0.meant)
        }
    }
}

import DocumentModel

/// Finds misspelled names of settings: names that were never read, and that resemble a name that was looked up and not found. A
/// setting that is silently ignored can be a security hole (`"disabeld": true`).
struct Misspellings {
    private struct Place: Hashable {
        @ExactText var file: String
        @ExactText var pointer: String
        @ExactText var name: String
    }

    private var asked: Set<Place> = []
    /// Names in the files that resemble a name that was looked up and not found (`meant`).
    private var candidates: [(place: Place, meant: String)] = []

    /// Records that a field of an object is read.
    mutating func asked(for name: String, of object: Document, file: String, pointer: String) {
        guard asked.insert(Place(file: file, pointer: pointer, name: name)).inserted, object[name] == nil else {
            return
        }
        for field in object.fields where field.key.isAlmost(name) {
            candidates.append((Place(file: file, pointer: pointer, name: field.key), name))
        }
    }

    /// The misspelled names. Complete once everything has been read.
    var found: [(file: String, pointer: String, name: String, meant: String)] {
        candidates.filter { !asked.contains($0.place) }.map {
            ($0.place.file, $0.place.pointer, $0.place.name, $0.meant)
        }
    }
}

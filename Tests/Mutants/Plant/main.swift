// Writes a copy of the libraries and of the simulation in which all mutants are planted, and their names, one per line.
// Arguments: the root of the checkout, the folder to write to.
import Foundation

struct Failure: Error, CustomStringConvertible { let description: String }

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    FileHandle.standardError.write(Data("usage: plant CHECKOUT FOLDER\n".utf8))
    exit(2)
}
let source = URL(filePath: arguments[1], directoryHint: .isDirectory)
let target = URL(filePath: arguments[2], directoryHint: .isDirectory)

/// Files that haven't changed keep their time, so that a second run builds only what is new.
func write(_ text: String, to path: String) throws {
    let url = target.appending(path: path)
    if (try? String(contentsOf: url, encoding: .utf8)) == text { return }
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: url, atomically: true, encoding: .utf8)
}

func files(below folder: String) throws -> [String] {
    let root = source.appending(path: folder)
    guard let names = FileManager.default.enumerator(atPath: root.path) else {
        throw Failure(description: "\(root.path) can't be read")
    }
    return names.compactMap { $0 as? String }.filter { name in
        [".swift", ".h", ".modulemap"].contains { name.hasSuffix($0) }
    }.map { "\(folder)/\($0)" }
}

/// The text of a file with its mutants in it. Several may stand in one place.
func planted(_ text: String, in path: String) throws -> String {
    var changes: [Range<String.Index>: String] = [:]
    for (number, mutant) in Mutant.all.enumerated() where path == mutant.file {
        let place = try mutant.place(in: text)
        if let other = changes.keys.first(where: { $0 != place && $0.overlaps(place) }) {
            throw Failure(description: "\(mutant.name): it overlaps another one's text: \(text[other])")
        }
        changes[place] = mutant.planted(number: number, beside: changes[place] ?? String(text[place]))
    }
    if changes.isEmpty { return text }
    var text = text
    for (place, change) in changes.sorted(by: { $0.key.lowerBound > $1.key.lowerBound }) {
        text.replaceSubrange(place, with: change)
    }
    // `isPlanted` is there.
    return text.contains("import DocumentModel") ? text : "import DocumentModel\n" + text
}

do {
    let names = Mutant.all.map(\.name)
    guard Set(names).count == names.count else { throw Failure(description: "two mutants have one name") }
    let known = Set(try (files(below: "Libraries/SyncEngine") + files(below: "Libraries/RealmSync")))
    if let lost = Mutant.all.first(where: { !known.contains($0.file) }) {
        throw Failure(description: "\(lost.name): there is no \(lost.file)")
    }
    var written: Set<String> = []
    for folder in [
        "Libraries/Texts", "Libraries/C/Cpcre2", "Libraries/DocumentModel", "Libraries/RegularExpressions",
        "Libraries/DocumentSchema", "Libraries/QueryLanguage", "Libraries/SyncEngine", "Libraries/C/Czlib",
        "Libraries/RealmSync", "Tests/MemoryStore",
        "Tests/RealmMessages", "Tests/RealmClientModel", "Tests/RealmSimulation", "Tests/Simulation",
        "Tests/Mutants/Run",
    ] {
        for path in try files(below: folder) {
            let text = try String(contentsOf: source.appending(path: path), encoding: .utf8)
            try write(planted(text, in: path), to: path)
            written.insert(path)
        }
    }
    try write(
        String(contentsOf: source.appending(path: "Tests/Mutants/Planted.swift.txt"), encoding: .utf8),
        to: "Libraries/DocumentModel/Planted.swift")
    try write(
        String(contentsOf: source.appending(path: "Tests/Mutants/Package.swift.txt"), encoding: .utf8),
        to: "Package.swift")
    try write(Mutant.all.map { "\($0.module) \($0.name)\n" }.joined(), to: "names")
    written.insert("Libraries/DocumentModel/Planted.swift")
    // What was moved or deleted meanwhile.
    for folder in ["Libraries", "Tests"] {
        let root = target.appending(path: folder)
        let present = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        for name in present where name.contains(".") && !written.contains("\(folder)/\(name)") {
            try FileManager.default.removeItem(at: root.appending(path: name))
        }
    }
} catch {
    FileHandle.standardError.write(Data("error: \(error)\n".utf8))
    exit(1)
}

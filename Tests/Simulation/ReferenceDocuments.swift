import DocumentModel
import SyncEngine

/// What documents have to be after the changesets of devices: the rules of SyncProtocol.md ("How writes merge") for fields that
/// have no fields of their own, written down once more, without any of the engine's code about clocks.
struct ReferenceDocuments: Sendable {
    /// The last write of a field.
    private struct Write {
        var value: Value?
        var time: HybridTime
        var author: String
        var revision: Revision
    }

    private struct Entry {
        var incarnation: Revision
        /// The insert, which every field has whose own write isn't known.
        var inserted: Write
        var fields: [String: Write] = [:]
    }

    /// The fields that are compared; others depend on more than the rule of a single path.
    private static let compared = ["a", "b", SimulatedServer.partitionKey]
    private var entries: [DocumentKey: Entry] = [:]

    /// Applies a changeset that was acknowledged for the first time.
    ///
    /// - Parameter store: the documents after it, of which only the revisions are taken.
    mutating func apply(
        _ changeset: Changeset, by author: String, at time: HybridTime, store: [DocumentKey: StoredDocument]
    ) {
        for operation in changeset.operations where operation.collection == "Note" {
            guard let key = operation.key else { continue }
            // A document that doesn't exist afterwards isn't compared, whatever it was in between.
            let revision = store[key]?.revision ?? EpochHistory.beginning
            switch operation.kind {
            case .insert(let document):
                if entries[key] == nil {
                    entries[key] = Entry(
                        incarnation: store[key]?.incarnation ?? EpochHistory.beginning,
                        inserted: Write(value: nil, time: time, author: author, revision: revision))
                    for name in Self.compared {
                        entries[key]?.fields[name] = Write(
                            value: document[name], time: time, author: author, revision: revision)
                    }
                } else {
                    for name in Self.compared {
                        guard let value = document[name] else { continue }
                        write(name, value, of: key, base: operation.base, by: author, at: time, revision: revision)
                    }
                }
            case .update(let operators, _):
                guard let entry = entries[key] else { continue }
                if let meant = operation.incarnation, meant != entry.incarnation { continue }
                for (name, value) in operators["$set"]?.documentValue?.fields.map({ ($0.key, $0.value) }) ?? [] {
                    write(name, value, of: key, base: operation.base, by: author, at: time, revision: revision)
                }
                for name in operators["$unset"]?.documentValue?.fields.map(\.key) ?? [] {
                    write(name, nil, of: key, base: operation.base, by: author, at: time, revision: revision)
                }
            case .delete:
                guard let entry = entries[key] else { continue }
                if let meant = operation.incarnation, meant != entry.incarnation { continue }
                entries[key] = nil
            }
        }
        // Documents that have left the partition.
        entries = entries.filter { _, entry in
            guard let place = entry.fields[SimulatedServer.partitionKey] else { return false }
            return place.value == SimulatedServer.membership.value
        }
    }

    /// A write counts if its author had seen the present value, or if it was made later.
    private mutating func write(
        _ name: String, _ value: Value?, of key: DocumentKey, base: Revision?, by author: String, at time: HybridTime,
        revision: Revision
    ) {
        guard Self.compared.contains(name), let entry = entries[key] else { return }
        let last = entry.fields[name] ?? entry.inserted
        let hasSeen = last.author == author || base.map { $0 >= last.revision } ?? false
        let isLater = time == last.time ? author > last.author : time > last.time
        guard hasSeen || isLater else { return }
        // The present value, written again and not later, changes nothing.
        if last.value == value, time <= last.time { return }
        entries[key]?.fields[name] = Write(
            value: value, time: max(time, last.time), author: author, revision: revision)
    }

    /// The server's side has written fields that aren't compared.
    mutating func follow(_ store: [DocumentKey: StoredDocument]) {
        for key in entries.keys where store[key] == nil { entries[key] = nil }
    }

    func differences(from store: [DocumentKey: StoredDocument]) -> [String] {
        let notes = store.filter { $0.key.collection == "Note" }
        if let key = Set(entries.keys).symmetricDifference(notes.keys).first {
            return ["\(key.idText) exists \(entries[key] == nil ? "and must not" : "no longer")"]
        }
        for (key, entry) in entries {
            for name in Self.compared where notes[key]?.document[name] != entry.fields[name]?.value {
                return [
                    "\(key.idText): \(name) is \(String(describing: notes[key]?.document[name])), not \(String(describing: entry.fields[name]?.value))"
                ]
            }
        }
        return []
    }
}

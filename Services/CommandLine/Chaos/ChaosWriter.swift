import DocumentModel
import PartitaClient
import SyncEngine

/// The load of one device: writes of all kinds, also without a connection.
final class ChaosWriter {
    private let name: String
    private let handles: [PartitionHandle]
    private let journal: ChaosJournal
    private var count: Int
    private var generator: SeededGenerator

    /// - Parameter count: how many writes the device had intended before.
    init(name: String, handles: [PartitionHandle], journal: ChaosJournal, count: Int, seed: UInt64) {
        self.name = name
        self.handles = handles
        self.journal = journal
        self.count = count
        generator = SeededGenerator(seed: seed &+ UInt64(count))
    }

    /// Writes until `isOver`.
    func work(_ session: Session, until isOver: () -> Bool) async throws {
        var offline = 0
        while !isOver() {
            let handle = handles[pick(handles.count)]
            switch pick(100) {
            case ..<55: try await writeEntry(handle)
            case ..<80: try await setPath(handle)
            case ..<97: try await changeNotes(handle)
            default:
                if offline == 0 {
                    await session.goOffline()
                    offline = 1 + pick(8)
                }
            }
            if offline > 0 {
                offline -= 1
                if offline == 0 { await session.goOnline() }
            }
            try await Task.sleep(for: .milliseconds(100 + pick(500)))  // the pace of the load
        }
        await session.goOnline()
    }

    private func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

    // MARK: Writes

    /// An entry of its own, and an increment of the counter that everybody increments.
    private func writeEntry(_ handle: PartitionHandle) async throws {
        let team = handle.partition.value ?? .null
        let amount = Int64(1 + pick(9))
        // Now and then a frame that needs several reads.
        let size = pick(40) == 0 ? 50_000 + pick(100_000) : 10 + pick(300)
        let text = String(repeating: "\(count) ", count: size / 4)
        let counter = ChaosApp.counter(team.stringValue ?? "")
        let name = name
        try await write(handle, "entry", ["amount": .int64(amount), "bytes": .int64(Int64(text.utf8.count))]) {
            id, transaction in
            transaction.insert(
                "Entry", ["_id": .string(id), "partition": team, "amount": .int64(amount), "text": .string(text)])
            transaction.update(
                "Counter", id: counter, ["$inc": .document(["total": .int64(amount), "by.\(name)": .int64(amount)])])
        }
    }

    /// One path of a board, with a value that nobody else writes.
    private func setPath(_ handle: PartitionHandle) async throws {
        let team = handle.partition.value?.stringValue ?? ""
        let board = ChaosApp.board(ChaosApp.boards[pick(ChaosApp.boards.count)], team)
        let path = ChaosApp.paths[pick(ChaosApp.paths.count)]
        let seen = try await handle.document("Board", id: board)?.value(at: path)
        var intention: Document = ["board": board, "path": .string(path)]
        intention["seen"] = seen
        try await write(handle, "set", intention) { id, transaction in
            transaction.update("Board", id: board, ["$set": .document([path: .string(id)])])
        }
    }

    /// Notes are inserted, changed and deleted by anybody.
    private func changeNotes(_ handle: PartitionHandle) async throws {
        let team = handle.partition.value ?? .null
        let notes = try await handle.find("Note")
        let note = notes.isEmpty ? nil : notes[pick(notes.count)]["_id"]
        let choice = pick(10), number = Int64(pick(1000))
        try await write(handle, "note", [:]) { id, transaction in
            switch (choice, note) {
            case (4..<7, let note?): transaction.update("Note", id: note, ["$set": ["text": .string(id)]])
            case (7, let note?): transaction.update("Note", id: note, ["$push": ["list": .int64(number)]])
            case (8, let note?): transaction.delete("Note", id: note)
            case (9, let note?):
                transaction.delete("Note", id: note)
                transaction.insert("Note", ["_id": .string(id), "partition": team, "in-place-of": note])
            default: transaction.insert("Note", ["_id": .string(id), "partition": team, "text": "", "list": []])
            }
        }
    }

    private func write(
        _ handle: PartitionHandle, _ kind: String, _ intention: Document,
        _ body: @Sendable (String, inout WriteTransaction) -> Void
    ) async throws {
        count += 1
        let id = "\(name).\(count)"
        var line: Document = [
            "id": .string(id), "team": handle.partition.value ?? .null, "kind": .string(kind),
        ]
        for field in intention.fields { line[field.key] = field.value }
        try journal.append(line)
        do {
            let version = try await handle.write { body(id, &$0) }
            try journal.append(["id": .string(id), "version": .int64(version ?? 0)])
        } catch let error as PartitaError where error.code == .badWrite {
            // The note was of another kind: nothing was written.
            try journal.append(["id": .string(id), "refused": .string(error.message)])
        }
    }
}

extension Document {
    /// The value at a path of fields, such as `b.c`.
    func value(at path: String) -> Value? {
        var value: Value? = .document(self)
        for name in path.split(separator: ".") { value = value?.documentValue?[String(name)] }
        return value
    }
}

import DocumentModel
import EventLoop
import Foundation
import PartitaClient

/// Reads commands from standard input and executes them on a device.
final class DeviceConsole {
    static let help = """
        open VALUE                       open a partition, for example: open conversation=1
                                         (o:HEX an ObjectId, u:UUID a UUID, l:NUMBER an integer,
                                         n: the null partition)
        find COLLECTION [FILTER]         show documents; FILTER is Extended JSON
        insert COLLECTION DOCUMENT       write a document into the partition
        set COLLECTION ID FIELDS         change fields of a document, for example: set User "abc" {"presence": "On-Line"}
        delete COLLECTION ID
        watch COLLECTION                 show changes as they arrive
        offline | online                 close the connection, or connect again
        pending | rejected               unanswered changesets; rejected ones, with the reason
        help | quit
        """

    private let session: Session
    private var partition: PartitionHandle
    /// The field that holds a document's partition.
    private let partitionKey: String
    private var watching: [Task<Void, Never>] = []

    /// How long a command waits for the server.
    private static let patience = Duration.seconds(10)

    init(session: Session, first: PartitionHandle, partitionKey: String) {
        self.session = session
        self.partitionKey = partitionKey
        partition = first
    }

    func run() async throws {
        while let line = await Self.nextLine() {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard let command = words.first else { continue }
            if command == "quit" { break }
            do {
                try await perform(command, words.count > 1 ? words[1] : "")
            } catch {
                Output.line("error: \(CallFailure.text(error))")
            }
        }
        for task in watching { task.cancel() }
    }

    private func perform(_ command: String, _ rest: String) async throws {
        switch command {
        case "open":
            try await open(Partition(given: rest))
        case "find":
            if try await !isAnswered(\.isSynced, { try await $0.waitForFirstSync() }) {
                Output.line("not loaded yet: these are the documents on this device")
            }
            let (collection, filter) = Self.split(rest)
            for document in try await partition.find(
                collection, try filter.map { try ExtendedJSON.parseDocument($0) } ?? [:])
            {
                Output.line(ExtendedJSON.print(document, mode: .relaxed))
            }
        case "insert":
            let (collection, text) = Self.split(rest)
            var document = try ExtendedJSON.parseDocument(text ?? "{}")
            if document["_id"] == nil { document["_id"] = .string(UUID().uuidString.lowercased()) }
            if document[partitionKey] == nil, partition.partition != .null {
                document[partitionKey] = partition.partition.value
            }
            try await partition.write { $0.insert(collection, document) }
        case "set":
            let (collection, more) = Self.split(rest)
            let (id, fields) = Self.split(more ?? "")
            let key = try ExtendedJSON.parse(id), set = try ExtendedJSON.parse(fields ?? "{}")
            try await partition.write { $0.update(collection, id: key, ["$set": set]) }
        case "delete":
            let (collection, id) = Self.split(rest)
            let key = try ExtendedJSON.parse(id ?? "null")
            try await partition.write { $0.delete(collection, id: key) }
        case "watch": try await watch(rest)
        case "offline": await session.goOffline()
        case "online": await session.goOnline()
        case "pending":
            for pending in try await partition.pending() {
                let state = pending.state == .waiting ? "not sent yet" : "sent"
                Output.line("version \(pending.changeset.version)  \(Self.text(pending.changeset))  \(state)")
            }
        case "rejected":
            for rejected in try await partition.rejected() {
                let reason = rejected.reason
                let place = [reason.path.map { "path \($0)" }, reason.rule.map { "rule \($0)" }].compactMap { $0 }
                Output.line(
                    "\(rejected.id)  \(Self.text(rejected.changeset))  \(reason.code.rawValue): \(reason.reason)"
                        + (place.isEmpty ? "" : " (\(place.joined(separator: ", ")))"))
            }
        case "help": Output.line(Self.help)
        default: Output.line("error: no command \(command); help lists them")
        }
    }

    private func open(_ wanted: Partition) async throws {
        let former = partition
        partition = try await session.openPartition(wanted.value ?? .string(wanted.text))
        let name = Self.name(wanted)
        do {
            let isAnswered = try await isAnswered(\.isSubscribed) { try await $0.waitForAnswer() }
            Output.line(isAnswered ? "opened \(name)" : "opened \(name) on this device: the server hasn't answered")
        } catch let error as PartitaError where error.code == .revoked {
            await partition.close()
            partition = former
            Output.line("refused \(name): \(error.serverCode ?? error.message)")
        }
    }

    /// Waits for the server if it can answer.
    /// - Returns: Whether it has.
    private func isAnswered(
        _ condition: (PartitionState) -> Bool,
        _ wait: @escaping @Sendable (PartitionHandle) async throws -> Void
    ) async throws -> Bool {
        let partition = partition
        var states = try await partition.states().makeAsyncIterator()
        if let state = await states.next(), condition(state) { return true }
        var connection = await session.connectionStates().makeAsyncIterator()
        let state = await connection.next()
        if state == .offline || state == .signedOut { return false }
        do {
            try await withTimeout(Self.patience) { try await wait(partition) }
            return true
        } catch is TimeoutError {
            return false
        }
    }

    /// A partition's value as the user types it.
    private static func name(_ partition: Partition) -> String {
        if case .string(let text)? = partition.value, Partition(given: text) == partition { return text }
        return partition.text
    }

    /// `insert ChatMessage "id", delete User "id"`.
    private static func text(_ changeset: Changeset) -> String {
        changeset.operations.map { operation in
            let verb =
                switch operation.kind {
                case .insert: "insert"
                case .update: "update"
                case .delete: "delete"
                }
            return "\(verb) \(operation.collection) \(ExtendedJSON.print(operation.id, mode: .relaxed))"
        }.joined(separator: ", ")
    }

    private func watch(_ collection: String) async throws {
        let snapshots = try await partition.observe(collection)
        // Ended by `run`.
        watching.append(
            Task {
                for await snapshot in snapshots {
                    for document in snapshot.inserted {
                        Output.line("+ \(ExtendedJSON.print(document, mode: .relaxed))")
                    }
                    for document in snapshot.modified {
                        Output.line("~ \(ExtendedJSON.print(document, mode: .relaxed))")
                    }
                    for id in snapshot.deleted { Output.line("- \(ExtendedJSON.print(id, mode: .relaxed))") }
                }
            })
    }

    private static func split(_ text: String) -> (String, String?) {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        return (parts.first ?? "", parts.count > 1 ? parts[1] : nil)
    }

    /// Reading blocks, so it runs in a separate thread.
    private static func nextLine() async -> String? {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: readLine()) }.start()
        }
    }
}

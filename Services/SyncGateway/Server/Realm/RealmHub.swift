import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import Logging
import RealmSync

/// The histories that this gateway's Realm clients have open, each once.
final class RealmHub: Sendable {
    private struct State {
        var histories: [PartitionKey: Open] = [:]
        /// The session that has a client file.
        var files: [FileKey: RealmSession] = [:]
        /// The classes of apps whose histories were brought up to them.
        var updated: [ExactText: (classes: ObjectSchema, collections: String)] = [:]
    }

    private struct Open {
        let history: RealmHistory
        var sessions: [ObjectIdentifier: RealmSession] = [:]
    }

    private struct FileKey: Hashable {
        let partition: PartitionKey
        let file: Int64
    }

    private let store: DocumentStore
    private let apps: AppDirectory
    private let classes: RealmClasses
    private let logger: Logger
    private let statements: SharedStatements
    /// A merge may take much memory and time: few at once, by app and user.
    private let merges = FairGate<ExactText>(places: 4, waiting: 25_000)
    /// Who holds back others has a connection of Postgres for that time, and needs another one for what it reads: there may be no more.
    private let turns = FairGate<ExactText>(places: 1, waiting: 25_000)
    /// A snapshot reads all objects of a partition.
    private let snapshots = FairGate<ExactText>(places: 1, waiting: 25_000)
    /// Large downloads are compressed one after the other, so that uploads needn't wait for many.
    private let compressions = FairGate<ExactText>(places: 1, waiting: 25_000)
    private let state = Locked(State())

    /// - Parameter loop: The loop on which what small uploads need of Postgres is asked for.
    init(store: DocumentStore, apps: AppDirectory, on loop: EventLoop, logger: Logger) {
        self.store = store
        statements = SharedStatements(store: store, on: loop)
        self.apps = apps
        classes = RealmClasses(apps: apps, logger: logger)
        self.logger = logger
    }

    /// How long clients may be away, of the apps that say it.
    /// - Throws: when the present apps can't be read: what a new app says must be known before its clients are forgotten.
    func offlineLimits() async throws -> [(app: String, limit: Duration)] {
        try await apps.refresh()
        return apps.apps.compactMap { id, app in
            app.definition.sync?.maximumOfflineDays.map { (id.text, .seconds($0 * 86_400)) }
        }
    }

    /// The partition's history, which is kept as long as a session has it open.
    func open(_ key: PartitionKey, by session: RealmSession) -> RealmHistory {
        state.withLock { state in
            var open = state.histories[key] ?? Open(history: makeHistory(key))
            open.sessions[ObjectIdentifier(session)] = session
            state.histories[key] = open
            return open.history
        }
    }

    private func makeHistory(_ key: PartitionKey) -> RealmHistory {
        RealmHistory(
            key: key, store: store, statements: statements, classes: classes, merges: merges, turns: turns,
            snapshots: snapshots, compressions: compressions, logger: logger)
    }

    /// The partition's history, for work that no session asks for.
    func history(of key: PartitionKey) -> RealmHistory {
        state.withLock { $0.histories[key]?.history } ?? makeHistory(key)
    }

    /// - Parameter file: The client file of the session, if it has one.
    func close(_ key: PartitionKey, file: Int64?, by session: RealmSession) {
        state.withLock { state in
            state.histories[key]?.sessions[ObjectIdentifier(session)] = nil
            if state.histories[key]?.sessions.isEmpty == true { state.histories[key] = nil }
            guard let file else { return }
            let place = FileKey(partition: key, file: file)
            if state.files[place] === session { state.files[place] = nil }
        }
    }

    /// Gives a client file to a session. Of sessions of two connections, the client has lost the connection that is older.
    /// - Returns: false if another session of the same connection has it.
    func take(_ file: Int64, of key: PartitionKey, for session: RealmSession) -> Bool {
        let place = FileKey(partition: key, file: file)
        let (loser, isTaken) = state.withLock { state -> (RealmSession?, Bool) in
            let former = state.files[place]
            if let former, former !== session {
                if former.hasSameConnection(as: session) { return (nil, true) }
                if former.hasNewerConnection(than: session) { return (session, false) }
            }
            state.files[place] = session
            return (former === session ? nil : former, false)
        }
        if let loser { loser.loop.execute { loser.dropConnection() } }
        return !isTaken
    }

    /// The client files that sessions have.
    var files: [(partition: PartitionKey, file: Int64)] {
        state.withLock { $0.files.keys.map { ($0.partition, $0.file) } }
    }

    /// Brings the open histories of an app up to its classes, if these are others than before. One that can't be read now follows when a
    /// client asks.
    func update(_ app: String) async {
        guard let deployed = classes.classes(of: app) else { return }
        let new = (classes: deployed.synced.schema, collections: deployed.names)
        let (isSame, open) = state.withLock { state in
            let former = state.updated.updateValue(new, forKey: ExactText(app))
            return (
                former.map { $0.classes == new.classes && $0.collections.hasSameBytes(as: new.collections) } ?? false,
                state.histories.filter { $0.key.app.hasSameBytes(as: app) }.map { ($0.key, $0.value.history) }
            )
        }
        if isSame { return }
        for (key, history) in open {
            history.changed()
            guard (try? await history.catchUp()) != nil else { continue }
            let sessions = state.withLock { state in state.histories[key].map { Array($0.sessions.values) } ?? [] }
            for session in sessions { session.loop.execute { session.wake() } }
        }
    }

    /// A session has added to a partition's history: the others send it.
    func grown(_ key: PartitionKey, by session: RealmSession) {
        let others = state.withLock { state in
            state.histories[key].map { Array($0.sessions.values) } ?? []
        }
        for other in others where other !== session { other.loop.execute { other.wake() } }
    }
}

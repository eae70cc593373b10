import DocumentModel
import SyncEngine

/// A user who is signed in on this device.
public final class Session: Sendable {
    /// The user's id.
    public let userId: String
    let tokens: SessionTokens
    private let client: SyncClient
    private let api: AccountAPI

    init(userId: String, client: SyncClient, tokens: SessionTokens, api: AccountAPI) {
        self.userId = userId
        self.client = client
        self.tokens = tokens
        self.api = api
    }

    // MARK: Partitions

    /// Opens a partition: what is on the device can be read at once, and what is missing follows.
    ///
    /// - Parameters:
    ///   - value: The partition key's value: a string, ObjectId, UUID or integer.
    ///   - waitForFirstSync: Whether to wait until the device has shown the partition's whole state once.
    /// - Throws: `PartitaError` with code `badPartition`, or `revoked` while waiting.
    public func openPartition(_ value: Value, waitForFirstSync: Bool = false) async throws -> PartitionHandle {
        guard let partition = Partition(value: value) else {
            throw PartitaError(code: .badPartition, message: "a partition is a string, ObjectId, UUID or integer")
        }
        try await client.open(partition)
        let handle = PartitionHandle(partition: partition, client: client)
        if waitForFirstSync { try await handle.waitForFirstSync() }
        return handle
    }

    /// The device's id on the server; another one after `forked`.
    public func deviceId() async -> String { await client.device }

    // MARK: The connection

    /// Where the connection stands, from now on; a slow reader gets the newest.
    public func connectionStates() async -> AsyncStream<ConnectionState> { await client.states() }

    /// Closes the connection until `goOnline`.
    public func goOffline() async { await client.goOffline() }

    /// Connects, now if it was waiting.
    public func goOnline() async { await client.goOnline() }

    /// What the app may want to tell its user, from now on; beyond 256 that nobody has read, the oldest go.
    public func events() async -> AsyncStream<SyncEvent> { await client.eventStream() }

    // MARK: Presence

    /// Says what the user is doing to those who watch the user, in a word of the app; kept over reconnections.
    ///
    /// - Parameter data: anything that the app adds, at most 4 KiB.
    public func setPresence(_ state: String, data: Document? = nil) async {
        await client.setPresence(state, data: data)
    }

    /// The presence of users, from now on.
    public func observePresence(of users: [String]) async -> AsyncStream<UserPresence> {
        await client.observePresence(of: users)
    }

    // MARK: Functions

    /// Calls a function of the app.
    public func callFunction(_ name: String, _ arguments: Value...) async throws -> Value {
        let api = api
        return try await tokens.withToken { try await api.callFunction(name, arguments, token: $0) }
    }

    /// Ends it on this device.
    func end() async {
        await client.stop()
        await client.store.close()
    }
}

import DocumentModel
import SyncEngine
import SyncProtocol

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

    /// Opens a partition: the data on the device can be read at once, and missing changes are downloaded.
    ///
    /// - Parameters:
    ///   - value: The partition key's value: a string, ObjectId, UUID or integer; `.null` opens the null partition, which has the
    ///     documents without a value, if the app's partition key isn't required.
    ///   - waitForFirstSync: Whether to wait until the device has received the partition's whole state at least once.
    /// - Returns: A handle. The partition stays open, and one of the device's places (100 by default) is taken, until the handle is closed
    ///   or the session ends.
    /// - Throws: `PartitaError` with code `badPartition`; `closed` when the session has ended; while waiting, as
    ///   ``PartitionHandle/waitForFirstSync()``. Then the partition isn't open.
    public func openPartition(_ value: Value, waitForFirstSync: Bool = false) async throws -> PartitionHandle {
        guard let partition = Partition(value: value), FrameLimits.admits(partition) else {
            throw PartitaError(
                code: .badPartition,
                message:
                    "a partition is a string of at most 1,022 bytes without U+0000, an ObjectId, UUID, integer or null")
        }
        try await client.open(partition)
        let handle = PartitionHandle(partition: partition, client: client)
        guard waitForFirstSync else { return handle }
        do {
            try await handle.waitForFirstSync()
        } catch {
            await handle.close()
            throw error
        }
        return handle
    }

    /// The device's id on the server; it changes after `forked`.
    public func deviceId() async -> String { await client.device }

    // MARK: The connection

    /// The state of the connection, from now on; a slow reader gets only the newest.
    public func connectionStates() async -> AsyncStream<ConnectionState> { await client.states() }

    /// Closes the connection until `goOnline`.
    public func goOffline() async { await client.goOffline() }

    /// Connects; if the connection was waiting for its back-off, it connects immediately.
    public func goOnline() async { await client.goOnline() }

    /// Events that the app may want to show its user, from now on; beyond 256 unread events, the oldest are dropped.
    public func events() async -> AsyncStream<SyncEvent> { await client.eventStream() }

    // MARK: Presence

    /// Sends the user's presence, a state that the app defines, to the devices that watch the user; it is sent again
    /// after reconnections.
    ///
    /// - Parameters:
    ///   - state: 1 to 256 bytes.
    ///   - data: data that the app adds, at most 4 KiB.
    /// - Throws: `PartitaError` with code `badPresence`.
    public func setPresence(_ state: String, data: Document? = nil) async throws {
        try await client.setPresence(state, data: data)
    }

    /// The presence of users, from now on.
    ///
    /// - Parameter users: ids of 1 to 256 bytes, of all streams at most as many as the gateway lets a device watch.
    /// - Throws: `PartitaError` with code `badPresence`.
    public func observePresence(of users: [String]) async throws -> AsyncStream<UserPresence> {
        try await client.observePresence(of: users)
    }

    // MARK: Functions

    /// Calls a function of the app.
    ///
    /// - Throws: `PartitaError` with code `closed` when the session has ended on this device, and those of calls.
    public func callFunction(_ name: String, _ arguments: Value...) async throws -> Value {
        let api = api
        return try await tokens.withToken { try await api.callFunction(name, arguments, token: $0) }
    }

    /// Ends the session on this device.
    func end() async {
        await tokens.close()
        await client.stop()
        await client.store.close()
    }
}

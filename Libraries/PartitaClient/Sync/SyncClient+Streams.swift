import DocumentModel
import SyncEngine
import SyncProtocol

extension SyncClient {
    func states() -> AsyncStream<ConnectionState> {
        connectionStates.stream(first: ConnectionState(connection.phase)) { [weak self] id in
            // Called on any thread when the reader has ended; the stream is removed then.
            Task { await self?.forgetConnectionStates(id) }
        }
    }

    private func forgetConnectionStates(_ id: StreamID) { connectionStates.remove(id) }

    func eventStream() -> AsyncStream<SyncEvent> {
        events.stream { [weak self] id in
            Task { await self?.forgetEvents(id) }  // as above
        }
    }

    private func forgetEvents(_ id: StreamID) { events.remove(id) }

    // MARK: Presence

    func setPresence(_ state: String, data: Document?) throws(PartitaError) {
        var changed = presence
        changed.state = state
        changed.data = data
        try change(to: changed)
    }

    func observePresence(of users: [String]) throws(PartitaError) -> AsyncStream<UserPresence> {
        var changed = presence
        for user in users { changed.watched[user, default: 0] += 1 }
        try change(to: changed)
        let watched = Set(texts: users)
        let isWatched = { @Sendable (presence: UserPresence) in watched.contains(presence.user) }
        return presences.stream(where: isWatched) { [weak self] id in
            Task { await self?.forgetPresence(id, of: users) }  // as above
        }
    }

    private func forgetPresence(_ id: StreamID, of users: [String]) {
        presences.remove(id)
        for user in users {
            let count = presence.watched[user, default: 1] - 1
            presence.watched[user] = count > 0 ? count : nil
        }
        // Also if none is left: until it is told, the gateway goes on sending.
        if connection.phase == .online { send(.presence(presence.update)) }
    }

    /// - Throws: `badPresence` for what the gateway couldn't read, which would end the connection.
    private func change(to changed: OwnPresence) throws(PartitaError) {
        do throws(SyncProtocolError) {
            _ = try DeviceFrame(DeviceFrame.presence(changed.update).encoded())
        } catch {
            throw PartitaError(code: .badPresence, message: error.message)
        }
        presence = changed
        if connection.phase == .online { send(.presence(presence.update)) }
    }
}

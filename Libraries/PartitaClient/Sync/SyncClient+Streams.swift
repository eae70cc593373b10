import DocumentModel
import SyncEngine
import SyncProtocol

extension SyncClient {
    func states() -> AsyncStream<ConnectionState> {
        connectionStates.stream(first: ConnectionState(connection.phase)) { [weak self] number in
            // Called on any thread when the reader has ended; the stream is removed then.
            Task { await self?.forgetConnectionStates(number) }
        }
    }

    private func forgetConnectionStates(_ number: Int) { connectionStates.remove(number) }

    func eventStream() -> AsyncStream<SyncEvent> {
        events.stream { [weak self] number in
            Task { await self?.forgetEvents(number) }  // as above
        }
    }

    private func forgetEvents(_ number: Int) { events.remove(number) }

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
        return presences.stream { [weak self] number in
            Task { await self?.forgetPresence(number, of: users) }  // as above
        }
    }

    private func forgetPresence(_ number: Int, of users: [String]) {
        presences.remove(number)
        for user in users {
            let count = presence.watched[user, default: 1] - 1
            presence.watched[user] = count > 0 ? count : nil
        }
        sendPresence()
    }

    /// - Throws: `badPresence` for what the gateway couldn't read, which would end the connection.
    private func change(to changed: OwnPresence) throws(PartitaError) {
        if let update = changed.update {
            do throws(SyncProtocolError) {
                _ = try DeviceFrame(DeviceFrame.presence(update).encoded())
            } catch {
                throw PartitaError(code: .badPresence, message: error.message)
            }
        }
        presence = changed
        sendPresence()
    }

    private func sendPresence() {
        guard connection.phase == .online, let update = presence.update else { return }
        send(.presence(update))
    }
}

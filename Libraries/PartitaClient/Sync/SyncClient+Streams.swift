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

    func setPresence(_ state: String, data: Document?) {
        presence.state = state
        presence.data = data
        sendPresence()
    }

    func observePresence(of users: [String]) -> AsyncStream<UserPresence> {
        for user in users { presence.watched[user, default: 0] += 1 }
        sendPresence()
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

    private func sendPresence() {
        guard connection.phase == .online, let update = presence.update else { return }
        send(.presence(update))
    }
}

import DocumentModel
import SyncProtocol

extension GatewayFixture {
    /// A device of `ann` that watches a user, with whom she shares a partition.
    func watcher(of user: String) async throws -> Device {
        try await share(["ann", user])
        let device = try await device("ann")
        try await device.watch([user])
        return device
    }

    /// Lets users read a partition of their own.
    @discardableResult
    func share(_ users: [String]) async throws -> Partition {
        let partition = partition()
        for user in users { try await grant(.read, to: user, in: partition) }
        return partition
    }
}

extension Device {
    func watch(_ users: [String]) async throws {
        try await send(.presence(.init(state: "online", watch: users)))
        // Users who come online after the pong are watched.
        try await send(.ping)
        guard case .pong = try await next() else { throw Unexpected(what: "no pong") }
    }

    /// The report that comes next.
    func presence() async throws -> GatewayFrame.PresenceReport {
        let frame = try await next()
        guard case .presence(let report) = frame else { throw Unexpected(what: "\(frame)") }
        return report
    }

    /// The next report of a state; what was said before may come twice.
    func presence(_ state: String) async throws -> GatewayFrame.PresenceReport {
        while true {
            let report = try await presence()
            if report.state == state { return report }
        }
    }
}

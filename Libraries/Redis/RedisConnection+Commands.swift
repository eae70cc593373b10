import EventLoop

/// Commands are sent on the caller's executor: on the connection's own loop that needs no hop to the actor, only the wait for the
/// answer.
extension RedisConnection {
    /// Sends one command. Throws the server's error.
    nonisolated(nonsending) public func command(_ arguments: [any RedisArgument]) async throws -> RedisValue {
        try await send(RedisCommand(arguments)).get()
    }

    /// Sends one command; an error of the server is returned as its answer.
    nonisolated(nonsending) func send(_ command: RedisCommand) async throws -> RedisValue {
        let value = try await transmit(command.wire)
        if let fallback = command.fallback, value.isNoScript { return try await transmit(fallback) }
        return value
    }

    /// Sends commands one right after the other, in one write; errors of the server are returned in their places.
    ///
    /// Returns when all are answered, even if the task is cancelled: commands that were sent can't be revoked.
    nonisolated(nonsending) public func send(_ commands: [RedisCommand]) async throws -> [RedisValue] {
        if commands.isEmpty { return [] }
        var values = try await transmit(commands.map(\.wire))
        let unknown = values.indices.filter { commands[$0].fallback != nil && values[$0].isNoScript }
        if !unknown.isEmpty {
            let answers = try await transmit(unknown.compactMap { commands[$0].fallback })
            for (index, answer) in zip(unknown, answers) { values[index] = answer }
        }
        return values
    }

    nonisolated(nonsending) private func transmit(_ wire: [UInt8]) async throws -> RedisValue {
        let value: RedisValue? = try await withUnsafeThrowingContinuation { continuation in
            start(CollectionOfOne(wire), .one(continuation))
        }
        guard let value else { throw await loss }
        return value
    }

    nonisolated(nonsending) private func transmit(_ wires: [[UInt8]]) async throws -> [RedisValue] {
        let values: [RedisValue]? = try await withUnsafeThrowingContinuation { continuation in
            start(wires, .all(continuation))
        }
        guard let values else { throw await loss }
        return values
    }

    nonisolated private func start(_ wires: some Collection<[UInt8]> & Sendable, _ waiter: PendingReply.Waiter) {
        if loop.inLoop {
            assumeIsolated { $0.begin(wires, waiter) }
        } else {
            loop.execute { self.assumeIsolated { $0.begin(wires, waiter) } }
        }
    }
}

extension RedisValue {
    fileprivate var isNoScript: Bool {
        if case .error(let error) = self { return error.prefix == "NOSCRIPT" }
        return false
    }
}

import Dispatch
import EventLoop
import Glibc

/// A resolved TCP address.
package struct SocketAddress: Sendable {
    let family: Int32
    let bytes: [UInt8]
}

/// Resolves names without blocking a loop or the cooperative pool.
package enum SocketAddresses {
    /// - Throws: ``WebSocketError`` `unresolvedHost`, `timedOut` or `cancelled`. getaddrinfo can't be interrupted, so a later
    ///   result is dropped.
    package static func resolve(_ host: String, port: UInt16, timeout: Duration) async throws -> [SocketAddress] {
        if let numeric = try? lookUp(host, port: port, flags: AI_NUMERICHOST) { return numeric }
        let pending = Locked<CheckedContinuation<[SocketAddress], any Error>?>(nil)
        let finish: @Sendable (Result<[SocketAddress], any Error>) -> Void = { result in
            let continuation = pending.withLock { state in
                defer { state = nil }
                return state
            }
            continuation?.resume(with: result)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                pending.withLock { $0 = continuation }
                let queue = DispatchQueue.global()
                queue.async { finish(Result { try lookUp(host, port: port, flags: 0) }) }
                queue.asyncAfter(deadline: .now() + .milliseconds(Int(timeout.milliseconds))) {
                    finish(.failure(WebSocketError(.timedOut, "looking up \(host)")))
                }
                if Task.isCancelled { finish(.failure(WebSocketError(.cancelled, "cancelled"))) }
            }
        } onCancel: {
            finish(.failure(WebSocketError(.cancelled, "cancelled")))
        }
    }

    private static func lookUp(_ host: String, port: UInt16, flags: Int32) throws(WebSocketError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            throw WebSocketError(.unresolvedHost, "\(host): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = entry.ai_addr {
                let bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
                addresses.append(SocketAddress(family: entry.ai_family, bytes: bytes))
            }
            next = entry.ai_next
        }
        return addresses
    }
}

import Cmicrohttpd

// libmicrohttpd calls these from inside MHD_run, MHD_stop_daemon and MHD_quiesce_daemon, which the listener calls on
// its loop.
extension HTTPListener {
    static let targetCallback: cmhd_target_callback = { me, target, connection in
        guard let me, let target else { return nil }
        let call = LoopOnly((target: target, connection: connection))
        return Unmanaged<HTTPListener>.fromOpaque(me).takeUnretainedValue().assumeIsolated {
            LoopOnly($0.began(call.value.target, call.value.connection))
        }.value
    }

    static let accessCallback: MHD_AccessHandlerCallback = { me, _, _, method, version, data, size, slot in
        guard let me, let size, let raw = slot?.pointee else { return .NO }
        let piece = UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size.pointee)
        size.pointee = 0
        let call = LoopOnly((method: method, version: version, piece: piece))
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeUnretainedValue()
        return Unmanaged<HTTPListener>.fromOpaque(me).takeUnretainedValue().assumeIsolated {
            LoopOnly($0.access(exchange, method: call.value.method, version: call.value.version, call.value.piece))
        }.value
    }

    static let completedCallback: MHD_RequestCompletedCallback = { me, _, slot, _ in
        guard let me, let slot, let raw = slot.pointee else { return }
        slot.pointee = nil
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeRetainedValue()
        Unmanaged<HTTPListener>.fromOpaque(me).takeUnretainedValue().assumeIsolated { $0.ended(exchange) }
    }

    static let connectionCallback: MHD_NotifyConnectionCallback = { me, connection, slot, what in
        guard let me, let connection, let slot else { return }
        let listener = Unmanaged<HTTPListener>.fromOpaque(me).takeUnretainedValue()
        if what == .CONNECTION_NOTIFY_STARTED {
            let carrier = RequestDeadlines.Connection(cmhd_socket(connection))
            slot.pointee = Unmanaged.passRetained(carrier).toOpaque()
            listener.assumeIsolated { $0.connected(carrier) }
        } else if let raw = slot.pointee {
            slot.pointee = nil
            let carrier = Unmanaged<RequestDeadlines.Connection>.fromOpaque(raw).takeRetainedValue()
            listener.assumeIsolated { $0.disconnected(carrier) }
        }
    }
}

/// Passes C values into and out of `assumeIsolated`.
///
/// `@unchecked Sendable`: used within one call on one thread.
struct LoopOnly<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}

import Foundation
import Glibc

/// One connection through a `FaultProxy`.
final class FaultLink {
    /// The bytes of one direction that were read and aren't written yet.
    private struct Flow {
        var bytes: [UInt8] = []
        /// How many bytes may still pass before the connection is cut.
        var rest: Int?
    }

    private enum Mode {
        case flowing
        case stalled(until: ContinuousClock.Instant)
        /// Nothing passes any more, and both ends keep a socket.
        case dead(until: ContinuousClock.Instant)
    }

    private struct Cut {
        let isReset: Bool
        let latest: ContinuousClock.Instant
    }

    private let client: Int32
    private let server: Int32
    private var fromDevice = Flow()
    private var toDevice = Flow()
    private var mode = Mode.flowing
    private var cut: Cut?
    private(set) var isClosed = false

    private static let limit = 65_536

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    var isFlowing: Bool { if case .flowing = mode { cut == nil && !isClosed } else { false } }

    // MARK: Faults

    /// Closes the connection after so many more bytes of one direction, in the middle of a frame or not.
    func cut(afterBytes count: Int, fromDevice isUp: Bool, isReset: Bool, latest: ContinuousClock.Instant) {
        cut = Cut(isReset: isReset, latest: latest)
        if isUp { fromDevice.rest = count } else { toDevice.rest = count }
    }

    func stall(until end: ContinuousClock.Instant) { mode = .stalled(until: end) }

    func die(until end: ContinuousClock.Instant) { mode = .dead(until: end) }

    func heal() { if case .stalled = mode { mode = .flowing } }

    func tick(_ now: ContinuousClock.Instant) {
        switch mode {
        case .flowing: if let cut, now > cut.latest { close(isReset: cut.isReset) }
        case .stalled(let end): if now > end { mode = .flowing }
        case .dead(let end): if now > end { close(isReset: true) }
        }
    }

    func close(isReset: Bool) {
        guard !isClosed else { return }
        isClosed = true
        for descriptor in [client, server] {
            if isReset {
                var option = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            }
            Glibc.close(descriptor)
        }
    }

    // MARK: Bytes

    /// What the sockets are polled for: the device's, then the gateway's.
    var interests: [pollfd] {
        var (client, server) = (pollfd(fd: client, events: 0, revents: 0), pollfd(fd: server, events: 0, revents: 0))
        guard case .flowing = mode, !isClosed else {
            // Negative descriptors are ignored: even an end isn't noticed.
            client.fd = -1
            server.fd = -1
            return [client, server]
        }
        if fromDevice.bytes.isEmpty { client.events |= Int16(POLLIN) } else { server.events |= Int16(POLLOUT) }
        if toDevice.bytes.isEmpty { server.events |= Int16(POLLIN) } else { client.events |= Int16(POLLOUT) }
        return [client, server]
    }

    /// Moves what can be read and written without waiting.
    func move() {
        guard case .flowing = mode, !isClosed else { return }
        guard Self.move(from: client, to: server, &fromDevice), Self.move(from: server, to: client, &toDevice) else {
            return close(isReset: cut?.isReset ?? false)
        }
    }

    /// - Returns: whether the connection goes on.
    private static func move(from source: Int32, to target: Int32, _ flow: inout Flow) -> Bool {
        if flow.bytes.isEmpty {
            var buffer = [UInt8](repeating: 0, count: limit)
            let count = read(source, &buffer, limit)
            if count == 0 { return false }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            flow.bytes = Array(buffer[..<count])
        }
        let allowed = min(flow.bytes.count, flow.rest ?? .max)
        let count = send(target, flow.bytes, allowed, Int32(MSG_NOSIGNAL))
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        flow.bytes.removeFirst(count)
        if let rest = flow.rest {
            flow.rest = rest - count
            if rest - count <= 0 { return false }
        }
        return true
    }
}

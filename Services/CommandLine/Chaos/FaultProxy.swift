import EventLoop
import Foundation
import Glibc
import LocalEngines
import SyncEngine

/// A TCP proxy between devices and gateways that cuts connections, lets them stand still, and lets them die unnoticed.
///
/// One thread serves all connections. Each is led to any of the gateways; if that one doesn't listen, the connection is closed.
///
/// `@unchecked Sendable`: besides the orders, which are locked, everything is used by the thread only.
final class FaultProxy: @unchecked Sendable {
    private struct Orders {
        var faults: [ChaosFault] = []
        var isHealing = false
        var isClosing = false
        var connections = 0
    }

    let port: Int
    private let targets: [Int]
    private let orders = Locked(Orders())
    private let listener: Int32
    private var links: [FaultLink] = []
    private var generator: SeededGenerator
    private let clock = ContinuousClock()

    /// Begins to listen on 127.0.0.1.
    /// - Parameter targets: the ports of the gateways.
    init(port: Int, targets: [Int], seed: UInt64) throws {
        self.port = port
        self.targets = targets
        generator = SeededGenerator(seed: seed)
        listener = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard Loopback.withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 128) == 0 else {
            throw ToolError("can't listen on port \(port): \(String(cString: strerror(errno)))")
        }
        Thread.detachNewThread { [self] in run() }
    }

    /// Does a `cut`, `stall` or `halfOpen` to about half of the connections that there are.
    func add(_ fault: ChaosFault) { orders.withLock { $0.faults.append(fault) } }

    /// Lets what stands still go on. Dead connections stay dead.
    func heal() { orders.withLock { $0.isHealing = true } }

    func close() { orders.withLock { $0.isClosing = true } }

    /// How many connections there are now.
    var connectionCount: Int { orders.withLock { $0.connections } }

    private func run() {
        while true {
            let (faults, isHealing, isClosing) = orders.withLock { orders in
                defer {
                    orders.faults = []
                    orders.isHealing = false
                    orders.connections = links.count
                }
                return (orders.faults, orders.isHealing, orders.isClosing)
            }
            if isClosing { break }
            for fault in faults { perform(fault) }
            let now = clock.now
            for link in links {
                if isHealing { link.heal() }
                link.tick(now)
            }
            links.removeAll(where: \.isClosed)
            turn()
        }
        for link in links { link.close(isReset: false) }
        Glibc.close(listener)
    }

    /// Waits a moment for sockets that are ready, and serves them.
    private func turn() {
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        for link in links { polled += link.interests }
        guard poll(&polled, nfds_t(polled.count), 20) > 0 else { return }
        for (index, link) in links.enumerated() {
            let both = polled[(1 + 2 * index)...(2 + 2 * index)]
            if both.contains(where: { $0.revents != 0 }) { link.move() }
        }
        if polled[0].revents != 0 { accept() }
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            _ = fcntl(client, F_SETFL, O_NONBLOCK)
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            let target = targets[Int.random(in: 0..<targets.count, using: &generator)]
            // Loopback: it is connected or refused at once, or the listener's queue is full.
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard server >= 0, Loopback.withAddress(target, { connect(server, $0, $1) }) == 0 else {
                Glibc.close(client)
                if server >= 0 { Glibc.close(server) }
                continue
            }
            _ = fcntl(server, F_SETFL, O_NONBLOCK)
            links.append(FaultLink(client: client, server: server))
        }
    }

    private func perform(_ fault: ChaosFault) {
        var generator = SeededGenerator(seed: fault.seed)
        let now = clock.now
        for link in links where link.isFlowing && Bool.random(using: &generator) {
            switch fault.kind {
            case .cut:
                link.cut(
                    afterBytes: Int.random(in: 0...3000, using: &generator), fromDevice: Bool.random(using: &generator),
                    isReset: Bool.random(using: &generator), latest: now + .seconds(2))
            case .stall: link.stall(until: now + fault.length)
            case .halfOpen: link.die(until: now + .seconds(90))
            default: break
            }
        }
    }
}

import EventLoop
import Foundation

/// Ports of this machine.
public enum LocalPort {
    /// Which ports this process was given already: two who start engines at once must not get the same.
    private static let given = Locked<Set<Int>>([])

    /// The first of `count` consecutive ports that nobody listens on now: for tests and for defaults.
    ///
    /// None that the kernel hands out by itself. Those it also gives to outgoing connections, and then a server that was killed
    /// can't come back: even to a client that only wants to know whether the server is back.
    /// - Throws: when none was found in a hundred tries.
    public static func free(_ count: Int = 1) throws(EngineError) -> Int {
        let range = ownRange
        for _ in 0..<100 {
            let ports = Int.random(in: range.lowerBound..<range.upperBound - count)
            let wanted = ports..<ports + count
            guard wanted.allSatisfy(TCPProbe.canBind) else { continue }
            let isOurs = given.withLock { given in
                guard given.isDisjoint(with: wanted) else { return false }
                given.formUnion(wanted)
                return true
            }
            if isOurs { return ports }
        }
        throw EngineError(engine: "port", message: "\(count) free ports beside each other weren't found in \(range)")
    }

    /// Whether somebody listens on the port.
    public static func isTaken(_ port: Int) -> Bool { TCPProbe.accepts(port: port) }

    /// Somebody else who answers on the port would be taken for what is to be started there.
    /// - Parameter user: who wants to listen there.
    /// - Throws: `EngineError` that names the port.
    public static func requireFree(_ port: Int, for user: String) throws(EngineError) {
        guard isTaken(port) else { return }
        throw EngineError(
            engine: user, message: "port \(port) is in use; stop what listens there, or choose others with --port")
    }

    /// What neither needs rights nor is the kernel's to hand out, by `ip_local_port_range` (ip(7)).
    private static let ownRange: Range<Int> = {
        let usual = 32_768...60_999
        let file = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        let bounds = (file ?? "").split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        let handedOut = bounds.count == 2 && bounds[0] <= bounds[1] ? bounds[0]...bounds[1] : usual
        let below = 10_000..<max(10_000, handedOut.lowerBound)
        let above = min(65_536, handedOut.upperBound + 1)..<65_536
        let larger = below.count >= above.count ? below : above
        return larger.count >= 1000 ? larger : 10_000..<65_536
    }()
}

import EventLoop
import Foundation

/// TCP ports of this machine.
public enum LocalPort {
    /// The ports that were already returned in this process, so that concurrent callers don't get the same ones.
    private static let given = Locked<Set<Int>>([])

    /// The first of `count` consecutive ports on which no server listens; for tests and for defaults.
    ///
    /// They are outside of the range from which the kernel assigns ports to outgoing connections. If an outgoing connection got the
    /// port of a killed server, even that of a client that probes for it, the server couldn't be restarted.
    /// - Throws: when none was found in a hundred attempts.
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
        throw EngineError(engine: "port", message: "\(count) consecutive free ports weren't found in \(range)")
    }

    /// Whether a server listens on the port.
    public static func isTaken(_ port: Int) -> Bool { TCPProbe.accepts(port: port) }

    /// Checks that no server listens on the port; it would be mistaken for the engine that is to be started there.
    /// - Parameter user: the name of the engine that will listen there.
    /// - Throws: `EngineError` that names the port.
    public static func requireFree(_ port: Int, for user: String) throws(EngineError) {
        guard isTaken(port) else { return }
        throw EngineError(
            engine: user, message: "port \(port) is in use; stop the program there, or choose others with --port")
    }

    /// The ports that need no privileges and that the kernel doesn't assign itself, according to `ip_local_port_range` (ip(7)).
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

import EventLoop
import Foundation
import Glibc

/// TCP ports of this machine.
public enum LocalPort {
    /// The ports that were already returned in this process, so that concurrent callers don't get the same ones.
    private static let given = Locked<Set<Int>>([])

    /// A file whose byte at a port's number is locked by the process that was given the port; -1 if it can't be opened, and processes then
    /// don't see what others were given. It stays open, since the locks end when the process closes it.
    private static let claims = open(claimsFile, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    static let claimsFile = FileManager.default.temporaryDirectory.path + "/partita-ports-\(getuid())"

    /// Reserves ports among the processes of this user until this one ends (fcntl(2), advisory record locks).
    /// - Returns: whether no other process has any of them.
    private static func claim(_ ports: Range<Int>) -> Bool {
        if claims < 0 { return true }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = ports.lowerBound
        lock.l_len = ports.count
        return fcntl(claims, F_SETLK, &lock) == 0
    }

    /// The first of `count` consecutive ports on which no server listens, and which no other process of this user was given; for tests and
    /// for defaults.
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
                guard given.isDisjoint(with: wanted), claim(wanted) else { return false }
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

/// A world, what may happen in it, and what has to hold afterwards.
public struct Scenario: Sendable {
    public let name: String
    public let devices: Int
    /// How many devices there are besides, which only read, and are sometimes installed again.
    public let readers: Int
    /// How many documents exist from the start: with many, a catch-up has many chunks.
    public let filled: Int
    public let mishaps: Set<Mishap>
    /// The same in an order that is always the same.
    let choices: [Mishap]
    /// What has to happen often, or the scenario proves nothing.
    public let expected: [SimulatedWorld.Event]
    /// Whether every increment that wasn't rejected has to count. Otherwise the server or a device went back to a backup, or a right was
    /// revoked, and what was lost with it doesn't count.
    public let countsAll: Bool

    init(
        _ name: String, devices: Int, readers: Int = 0, filled: Int = 0, _ mishaps: Set<Mishap>,
        countsAll: Bool = false,
        expecting expected: [SimulatedWorld.Event]
    ) {
        self.name = name
        self.devices = devices
        self.readers = readers
        self.filled = filled
        self.mishaps = mishaps
        choices = Mishap.allCases.filter(mishaps.contains)
        self.expected = expected
        self.countsAll = countsAll
    }

    public static let all = [
        Scenario(
            "connections", devices: 4, [.straying, .clockJumps], countsAll: true,
            expecting: [.answeredAgain, .disconnected, .rejected, .lagged, .straying, .lostWrite, .deliveredEarly]),
        Scenario(
            "feed", devices: 3, readers: 1, filled: 12, [.feedFaults, .moves, .clockJumps], countsAll: true,
            expecting: [.feedLost, .feedRepeated, .moved, .moveRefused]),
        Scenario(
            "restore", devices: 2, readers: 2, filled: 24, [.serverRestored], countsAll: true,
            expecting: [.restored, .rejected, .catchUpResumed, .catchUpAbandoned]),
        Scenario(
            "restore-under-sockets", devices: 2, readers: 2, filled: 24, [.serverRestoredUnderSockets, .feedFaults],
            countsAll: true, expecting: [.restored, .sessionEnded, .catchUpResumed]),
        Scenario(
            "revocation", devices: 3, [.revocation, .straying, .suspension],
            expecting: [.revoked, .rejected, .suspended, .receipt, .lapsed, .begunAgain]),
        Scenario(
            "rights", devices: 3, filled: 12, [.revocation, .suspension, .gatewayLost, .relayHandOver],
            expecting: [.revoked, .receipt, .lapsed, .gatewayLost, .reset, .begunAgain]),
        Scenario(
            "shared-rules", devices: 3, filled: 12, [.sharedRules, .revocation, .suspension, .gatewayLost],
            expecting: [.revoked, .receipt, .lapsed, .reset, .begunAgain, .sharedGrantEnded, .closed]),
        Scenario(
            "expiry", devices: 3, filled: 12, [.expiry, .revocation, .suspension, .gatewayLost],
            expecting: [.expired, .undecided, .revoked, .receipt, .lapsed, .closed]),
        Scenario(
            "gateways", devices: 4, filled: 12, [.gatewayLost, .feedFaults, .straying], countsAll: true,
            expecting: [.gatewayLost, .feedLost, .feedRepeated, .straying, .answeredAgain, .deliveredEarly]),
        Scenario(
            "hand-over", devices: 3, [.relayHandOver], countsAll: true,
            expecting: [.relayLeads, .relayLost, .markRefused, .publishedAgain]),
        Scenario(
            "suspension", devices: 3, filled: 24, [.suspension, .feedFaults], countsAll: true,
            expecting: [.suspended, .lagged]),
        Scenario(
            "device-restored", devices: 3, [.deviceRestored, .straying],
            expecting: [.deviceRestored, .forked, .answeredAgain, .straying]),
        Scenario("device-cloned", devices: 3, [.deviceCloned, .straying], expecting: [.cloned, .forked, .straying]),
        Scenario(
            "cloned-and-revoked", devices: 3, [.deviceCloned, .revocation, .straying],
            expecting: [.cloned, .revoked, .forked]),
        Scenario(
            "tombstones", devices: 3, readers: 1, filled: 12, [.tombstonesDropped, .straying], countsAll: true,
            expecting: [.tombstonesDropped, .servedFromStart, .sessionEnded]),
        Scenario(
            "everything", devices: 4, readers: 1, filled: 12, Set(Mishap.allCases),
            expecting: [.restored, .cloned, .revoked, .suspended, .moved, .gatewayLost, .receipt]),
    ]

    /// Whether a gateway's lease may lapse.
    var watchesLeases: Bool { !mishaps.isDisjoint(with: [.revocation, .suspension]) }

    /// How many steps a history has.
    public static let steps = 250

    public static func history(seed: UInt64) -> [UInt64] { SeededSteps.make(steps, seed: seed) }

    /// Plays a history, lets everything in flight arrive, and checks what came out.
    ///
    /// - Parameters:
    ///   - isTraced: Whether the world writes down what happens.
    ///   - isRecorded: Whether the world keeps what happened on the server.
    public func run(_ history: [UInt64], isTraced: Bool = false, isRecorded: Bool = false) -> SimulatedWorld {
        var world = SimulatedWorld(self, isTraced: isTraced, isRecorded: isRecorded)
        for step in history { world.step(step) }
        world.settle()
        world.check()
        return world
    }

    /// A part of a history that fails that still fails, and that doesn't when another step is left out.
    public func shrunk(_ history: [UInt64]) -> [UInt64] {
        SeededSteps.shrunk(history) { !run($0).violations.isEmpty }
    }
}

import Simulation

/// What may happen to Realm clients and gateways, and what has to hold afterwards.
public struct RealmScenario: Sendable {
    public enum Mishap: CaseIterable, Sendable {
        case cuts, slowReaders, serverWrites, snapshots, revocation, suspension, gatewayLost, forgottenFiles, restore
        case redeployments
    }

    public let name: String
    let clients: Int
    let mishaps: [Mishap]
    /// What has to happen often, or the scenario proves nothing.
    public let expected: [RealmSimulation.Event]
    /// Whether every addition to the counter has to count once, but for those that the client was told to be refused. Otherwise clients
    /// begin anew.
    let countsAll: Bool

    init(
        _ name: String, clients: Int = 3, _ mishaps: [Mishap], countsAll: Bool = false,
        expecting expected: [RealmSimulation.Event]
    ) {
        self.name = name
        self.clients = clients
        self.mishaps = mishaps
        self.expected = expected
        self.countsAll = countsAll
    }

    public static let all = [
        RealmScenario("two", clients: 2, [.cuts], countsAll: true, expecting: [.cut, .lostRace, .uploadedAgain]),
        RealmScenario(
            "writers", [.cuts, .slowReaders, .serverWrites], countsAll: true,
            expecting: [.cut, .lostRace, .serverWrote, .together, .tookForNew]),
        RealmScenario(
            "snapshots", [.cuts, .serverWrites, .snapshots], countsAll: true,
            expecting: [.snapshot, .trimmed, .begun, .lostRace]),
        RealmScenario(
            "rights", [.cuts, .serverWrites, .revocation, .suspension], countsAll: true,
            expecting: [.refused, .revoked, .suspended]),
        RealmScenario(
            "gateways", [.cuts, .serverWrites, .gatewayLost, .suspension], countsAll: true,
            expecting: [.gatewayLost, .uploadedAgain, .suspended]),
        RealmScenario(
            "forgotten", [.cuts, .serverWrites, .snapshots, .forgottenFiles], expecting: [.reset, .trimmed]),
        RealmScenario(
            "restore", [.cuts, .serverWrites, .serverWrites, .restore, .restore], expecting: [.restored, .reset]),
        RealmScenario(
            "redeployments", [.cuts, .serverWrites, .snapshots, .redeployments],
            expecting: [.deployed, .reset, .refused, .lostRace]),
    ]

    /// How many steps a history has.
    private static let steps = 300

    public static func history(seed: UInt64) -> [UInt64] { SeededSteps.make(steps, seed: seed) }

    /// Plays a history, lets everything in flight arrive, and checks what came out.
    /// - Parameter isTraced: Whether it is written down what happens.
    public func run(_ history: [UInt64], isTraced: Bool = false) -> RealmSimulation {
        var world = RealmSimulation(self, isTraced: isTraced)
        for step in history where world.violations.isEmpty { world.step(step) }
        if world.violations.isEmpty { world.settle() }
        return world
    }

    /// A part of a history that fails that still fails, and that doesn't when another step is left out.
    public func shrunk(_ history: [UInt64]) -> [UInt64] {
        SeededSteps.shrunk(history) { !run($0).violations.isEmpty }
    }
}

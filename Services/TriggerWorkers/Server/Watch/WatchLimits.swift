import ServiceBootstrap

/// The limits of streams of changes, which each process has for itself.
struct WatchLimits: Sendable {
    static let user = ConfigurationKey<Int>.int(
        "watch.user-streams", default: 20, range: 1...10_000,
        "Streams of changes (watch) that a user may have open at one instance.")
    static let app = ConfigurationKey<Int>.int(
        "watch.app-streams", default: 2000, range: 1...100_000,
        "Streams of changes that all users of an app may have open.")
    static let all = ConfigurationKey<Int>.int(
        "watch.streams", default: 5000, range: 1...100_000, "Streams of changes that may be open.")
    static let window = ConfigurationKey<Int>.bytes(
        "watch.window", default: 8 << 20, range: (64 << 10)...(1 << 30),
        "Bytes of changes that may wait for one stream; beyond them the stream ends.")
    static let memory = ConfigurationKey<Int>.bytes(
        "watch.memory", default: 64 << 20, range: (1 << 20)...(16 << 30),
        "Bytes of changes that may wait for all streams together; beyond them the streams with the most end.")
    static let heartbeat = ConfigurationKey<Duration>.duration(
        "watch.heartbeat", default: .seconds(20), range: .seconds(1)...(.seconds(60)),
        "How often a stream of changes without changes gets a comment, so that no proxy takes it for dead.")
    static let resumption = ConfigurationKey<Int>.int(
        "watch.resume-messages", default: 500_000, range: 0...100_000_000,
        "Changes of all apps after which a stream can't be resumed any more; 0 lets none be resumed.")
    static let keys = [
        user.description, app.description, all.description, window.description, memory.description,
        heartbeat.description, resumption.description,
    ]

    /// The number of changes that may wait for one stream.
    static let changes = 10_000

    let perUser: Int
    let perApp: Int
    let total: Int
    let window: Int
    let memory: Int
    let heartbeat: Duration
    let resumption: Int

    init(_ configuration: Configuration) {
        perUser = configuration[Self.user]
        perApp = configuration[Self.app]
        total = configuration[Self.all]
        window = configuration[Self.window]
        memory = configuration[Self.memory]
        heartbeat = configuration[Self.heartbeat]
        resumption = configuration[Self.resumption]
    }
}

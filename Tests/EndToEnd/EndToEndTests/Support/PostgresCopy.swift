import LocalEngines
import TestSupport

extension PostgresCopy {
    /// Copies a system's Postgres as it is now.
    init(of system: RunningSystem, name: String, isStandby: Bool) async throws {
        try await self.init(
            of: system.directory + "/engines", url: try system.setting("postgres.url"),
            in: system.directory + "/" + name, isStandby: isStandby)
    }

    /// Kills the system's Postgres with its whole data directory, and puts the copy in its place; `up` starts it there.
    func takeOver(_ system: RunningSystem) async throws {
        let former = try system.pid(of: "postgres")
        try replace()
        try system.kill("postgres")
        try await eventually("the copy runs", within: .seconds(60)) {
            guard try system.pid(of: "postgres") != former else { return false }
            return (try? await system.query("select 1")) != nil
        }
    }
}

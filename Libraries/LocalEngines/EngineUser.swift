import ChildProcesses
import Glibc

/// The account that engines run as. Postgres refuses to run as root, so root starts all engines as `partita` when that account
/// exists (`Deploy/up` creates it), else as `postgres`. Any other user runs them as itself.
struct EngineUser: Sendable {
    /// `nil` when the engines run as the present user.
    let account: ChildProcess.Account?

    static let present = EngineUser(account: nil)

    static var preferred: EngineUser {
        guard geteuid() == 0 else { return present }
        for name in ["partita", "postgres"] {
            if let entry = getpwnam(name) {
                return EngineUser(account: .init(user: entry.pointee.pw_uid, group: entry.pointee.pw_gid))
            }
        }
        return present
    }

    /// Whether the account may read a file, for software that may be in a user's home directory.
    func canRead(_ path: String) async -> Bool {
        await (try? CapturedRun.run("test", ["-r", path], account: account))?.status.isSuccess ?? false
    }
}

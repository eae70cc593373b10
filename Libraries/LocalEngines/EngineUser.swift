import ChildProcesses
import Glibc

/// The account that engines run as. Postgres refuses to run as root, so root starts all engines as `partita` when that account
/// exists (`Deploy/up` creates it), else as `postgres`; anybody else runs them as himself.
struct EngineUser: Sendable {
    struct Account: Sendable {
        let name: String
        let uid: uid_t
        let gid: gid_t
    }

    /// `nil` when the engines run as the present user.
    let account: Account?

    static let present = EngineUser(account: nil)

    static var preferred: EngineUser {
        guard geteuid() == 0 else { return present }
        for name in ["partita", "postgres"] {
            if let entry = getpwnam(name) {
                return EngineUser(account: Account(name: name, uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid))
            }
        }
        return present
    }

    /// Whether the account may read a file, for software that may lie in somebody's home.
    func canRead(_ path: String) async -> Bool {
        let command = command("test", ["-r", path])
        return await (try? CapturedRun.run(command[0], Array(command.dropFirst())))?.status.isSuccess ?? false
    }

    func command(_ executable: String, _ arguments: [String]) -> [String] {
        guard let account else { return [executable] + arguments }
        return ["setpriv", "--reuid=\(account.uid)", "--regid=\(account.gid)", "--clear-groups", executable] + arguments
    }
}

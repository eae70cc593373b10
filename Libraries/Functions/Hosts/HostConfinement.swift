public import ChildProcesses
import Glibc

/// What function hosts are kept from. They run whatever an app's developers wrote, and whatever breaks out of it.
public struct HostConfinement: Sendable {
    /// Whom they run as; `nil`: as their parent, which isn't root then.
    public var account: ChildProcess.Account?
    /// Whether the kernel refuses the system calls that a script has no use for.
    public var filtersCalls = true

    /// The account that hosts of a root's service run as when nothing else is said.
    public static let usualAccount = "nobody"

    /// As `nobody` where this process is root's, with the filter.
    public static var usual: HostConfinement {
        let entry = getpwnam(usualAccount)
        // What the kernel itself calls nobody.
        let account = ChildProcess.Account(user: entry?.pointee.pw_uid ?? 65534, group: entry?.pointee.pw_gid ?? 65534)
        return HostConfinement(account: geteuid() == 0 ? account : nil)
    }

    init(account: ChildProcess.Account?) { self.account = account }

    /// - Parameter accountName: whom they run as where this process is root's; it changes nothing where it isn't.
    /// - Throws: `HostConfinementError` when there is no such account, or it is root's.
    public init(accountName: String, filtersCalls: Bool) throws(HostConfinementError) {
        self.filtersCalls = filtersCalls
        guard geteuid() == 0 else { return }
        guard let entry = getpwnam(accountName) else {
            throw HostConfinementError(message: "there is no account \(accountName) on this machine")
        }
        guard entry.pointee.pw_uid != 0 else {
            throw HostConfinementError(message: "\(accountName) is root; functions run as an account without rights")
        }
        account = ChildProcess.Account(user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
    }

    /// What the host is told beside its limit of memory. It changes its account itself: the other one needn't be able to read the program.
    var arguments: [String] {
        (account.map { ["--account", "\($0.user):\($0.group)"] } ?? []) + (filtersCalls ? [] : ["--without-filter"])
    }

    /// What it knows of the parent's environment, which holds passwords and keys: nothing but these.
    static func environment(
        of variables: [String: String] = CurrentEnvironment.variables
    ) -> [String: String] {
        ChildProcess.plainEnvironment(of: variables).merging(variables.filter { $0.key.hasPrefix("JSC_") }) { $1 }
    }

    /// Address space has no limit: the engine reserves far more of it than it uses. Resident memory is watched, by the host and by its parent.
    var restrictions: ChildProcess.Restrictions {
        var limits: [ChildProcess.Restrictions.Resource: UInt64] = [.descriptors: 64, .fileSize: 0, .coreSize: 0]
        // Counted over all processes of the account: as the parent's it would count the parent's threads.
        if account != nil { limits[.processes] = 2048 }
        return ChildProcess.Restrictions(forbidsNewPrivileges: true, limits: limits)
    }

    /// Starts a host.
    /// - Parameters:
    ///   - socket: the host's end of the socket.
    ///   - errors: where its standard output and standard error go.
    package func start(
        _ executable: String, memoryLimit: Int, socket: Int32, errors: ChildProcess.Output = .inherit
    ) throws(ChildProcessError) -> ChildProcess {
        try ChildProcess.spawn(
            executable, ["\(memoryLimit)"] + arguments, environment: Self.environment(), workingDirectory: "/",
            output: errors, descriptors: [socket], restrictions: restrictions)
    }
}

/// Why functions can't be confined as configured.
public struct HostConfinementError: Error, Sendable, CustomStringConvertible {
    let message: String
    public var description: String { message }
}

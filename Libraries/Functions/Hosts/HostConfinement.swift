public import ChildProcesses
import Glibc

/// How function hosts are confined. They run code by an app's developers, and exploits might break out of the JavaScript engine.
public struct HostConfinement: Sendable {
    /// The account that they run as; `nil`: their parent's, which isn't root then.
    public var account: ChildProcess.Account?
    /// Whether the kernel refuses the system calls that a script has no use for.
    public var filtersCalls = true

    /// The default account of hosts whose service runs as root.
    public static let usualAccount = "nobody"

    /// The default confinement: the account `nobody` when this process runs as root, and the system call filter.
    public static var usual: HostConfinement {
        let entry = getpwnam(usualAccount)
        // The fallback is the kernel's own id for nobody.
        let account = ChildProcess.Account(user: entry?.pointee.pw_uid ?? 65534, group: entry?.pointee.pw_gid ?? 65534)
        return HostConfinement(account: geteuid() == 0 ? account : nil)
    }

    init(account: ChildProcess.Account?) { self.account = account }

    /// - Parameter accountName: the account that they run as when this process runs as root; ignored otherwise.
    /// - Throws: `HostConfinementError` when there is no such account, or it is root.
    public init(accountName: String, filtersCalls: Bool) throws(HostConfinementError) {
        self.filtersCalls = filtersCalls
        guard geteuid() == 0 else { return }
        guard let entry = getpwnam(accountName) else {
            throw HostConfinementError(message: "there is no account \(accountName) on this machine")
        }
        guard entry.pointee.pw_uid != 0 else {
            throw HostConfinementError(message: "\(accountName) is root; functions must run as an unprivileged account")
        }
        account = ChildProcess.Account(user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
    }

    /// The host's arguments besides its memory limit. It changes its account itself, because the new account may not be able to
    /// read the executable.
    var arguments: [String] {
        (account.map { ["--account", "\($0.user):\($0.group)"] } ?? []) + (filtersCalls ? [] : ["--without-filter"])
    }

    /// The part of the parent's environment that the host gets. The rest may hold passwords and keys.
    static func environment(
        of variables: [String: String] = CurrentEnvironment.variables
    ) -> [String: String] {
        ChildProcess.plainEnvironment(of: variables).merging(variables.filter { $0.key.hasPrefix("JSC_") }) { $1 }
    }

    /// The address space isn't limited, because the engine reserves far more of it than it uses. Instead, the host and its parent
    /// watch the resident memory.
    var restrictions: ChildProcess.Restrictions {
        var limits: [ChildProcess.Restrictions.Resource: UInt64] = [.descriptors: 64, .fileSize: 0, .coreSize: 0]
        // The limit counts all processes of the account; with the parent's account it would count the parent's threads, too.
        if account != nil { limits[.processes] = 2048 }
        return ChildProcess.Restrictions(forbidsNewPrivileges: true, limits: limits)
    }

    /// Starts a host.
    /// - Parameters:
    ///   - socket: the host's end of the socket.
    ///   - page: where it shows which call it works for.
    ///   - errors: the destination of its standard output and standard error.
    ///   - variables: the parent's environment.
    package func start(
        _ executable: String, memoryLimit: Int, socket: Int32, page: SharedPage,
        errors: ChildProcess.Output = .inherit, variables: [String: String] = CurrentEnvironment.variables
    ) throws(ChildProcessError) -> ChildProcess {
        try ChildProcess.spawn(
            executable, ["\(memoryLimit)"] + arguments, environment: Self.environment(of: variables),
            workingDirectory: "/",
            output: errors, descriptors: [socket, page.descriptor], restrictions: restrictions)
    }
}

/// Why functions can't be confined as configured.
public struct HostConfinementError: Error, Sendable, CustomStringConvertible {
    let message: String
    public var description: String { message }
}

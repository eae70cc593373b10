import Cconfine
import Glibc

/// The rights that the host drops before it runs an app's script, so that a script that breaks out of the engine has no access to
/// files, the network, other processes, or root privileges.
public struct Confinement: Sendable {
    /// The account that the host switches to; `nil` keeps the current one. Requires root.
    public var account: (user: UInt32, group: UInt32)?
    /// Whether system calls are filtered.
    public var filtersCalls: Bool

    public init(account: (user: UInt32, group: UInt32)? = nil, filtersCalls: Bool = true) {
        self.account = account
        self.filtersCalls = filtersCalls
    }

    /// The first part, before the engine starts its threads.
    /// - Parameter descriptors: how many descriptors are kept open.
    func begin(descriptors: Int32) throws(ConfinementError) {
        // An attempt to write a file should fail, and not end the process.
        signal(SIGXFSZ, SIG_IGN)
        try check(cconfine_descriptors(descriptors), "descriptors can't be closed")
        // Only a preference, which some kernels and containers don't accept.
        _ = cconfine_memory_priority()
        if let account {
            try check(
                cconfine_account(account.user, account.group, SIGKILL),
                "the account \(account.user):\(account.group) can't be taken on")
        }
    }

    /// The second part, after the engine has opened the files that it needs.
    func complete() throws(ConfinementError) {
        guard filtersCalls else { return }
        try check(
            cconfine_system_calls(),
            "the kernel accepts no filter of system calls (functions.filter-calls=false runs functions without one)")
    }

    /// Confines this process and tries forbidden operations, for administrators and tests.
    /// - Returns: a line for each attempt: its name, and the error with which it was refused, or `allowed`.
    public func attempts() throws(ConfinementError) -> [String] {
        try begin(descriptors: 4)
        try complete()
        var lines: [String] = []
        var name: UnsafePointer<CChar>?
        while true {
            let error = cconfine_attempt(Int32(lines.count), &name)
            guard error >= 0, let name else { return lines }
            lines.append("\(String(cString: name)): \(error == 0 ? "allowed" : String(cString: strerror(error)))")
        }
    }

    private func check(_ error: Int32, _ message: String) throws(ConfinementError) {
        if error != 0 { throw ConfinementError(message: "\(message): \(String(cString: strerror(error)))") }
    }
}

/// The host can't drop a right that it must not have. It runs no script then.
public struct ConfinementError: Error, CustomStringConvertible {
    let message: String
    public var description: String { message }
}

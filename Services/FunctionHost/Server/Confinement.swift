import Cconfine
import Glibc

/// What the host gives up before it runs an app's script, so that a script that breaks out of the engine finds nothing: no files, no
/// network, no other process, no rights of root.
public struct Confinement: Sendable {
    /// Whom it becomes; `nil` stays who it is. For root only.
    public var account: (user: UInt32, group: UInt32)?
    /// Whether system calls are filtered.
    public var filtersCalls: Bool

    public init(account: (user: UInt32, group: UInt32)? = nil, filtersCalls: Bool = true) {
        self.account = account
        self.filtersCalls = filtersCalls
    }

    /// Before the engine starts, which has threads.
    /// - Parameter descriptors: how many are kept.
    func begin(descriptors: Int32) throws(ConfinementError) {
        // Where it may write no files, an attempt fails; it needn't end the process.
        signal(SIGXFSZ, SIG_IGN)
        try check(cconfine_descriptors(descriptors), "descriptors can't be closed")
        // An order of preference, which some kernels and containers don't take.
        _ = cconfine_memory_priority()
        if let account {
            try check(
                cconfine_account(account.user, account.group, SIGKILL),
                "the account \(account.user):\(account.group) can't be taken on")
        }
    }

    /// After the engine has opened what it needs.
    func complete() throws(ConfinementError) {
        guard filtersCalls else { return }
        try check(
            cconfine_system_calls(),
            "the kernel takes no filter of system calls (functions.filter-calls=false runs functions without one)")
    }

    /// Confines this process and tries what must fail, for administrators and tests.
    /// - Returns: a line for each attempt: its name, and why it was refused or that it was `allowed`.
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

/// The host can't give up what it must not have. It runs nothing then.
public struct ConfinementError: Error, CustomStringConvertible {
    let message: String
    public var description: String { message }
}

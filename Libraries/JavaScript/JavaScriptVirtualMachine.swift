import CJavaScriptCore
import Glibc

/// One JavaScriptCore heap. Confined to the thread that made it, as are its contexts: the host process has one thread for them.
///
/// After a script was ended by a limit the machine is used up (the memory doesn't come back, and the next entry may still throw):
/// end the process.
public final class JavaScriptVirtualMachine {
    let group: JSContextGroupRef
    let watchdog: Watchdog

    /// - Parameter memoryLimit: bytes of resident memory of this process beyond which a script is ended.
    public init(memoryLimit: Int = .max) {
        // The default, signal-based traps miss loops in native code: a script over its limit ran for up to 10 s. Read at the
        // first use of the engine.
        setenv("JSC_usePollingTraps", "true", 1)
        group = JSContextGroupCreate()
        watchdog = Watchdog(group: group, memoryLimit: memoryLimit)
    }

    deinit {
        JSContextGroupClearExecutionTimeLimit(group)
        JSContextGroupRelease(group)
    }

    /// This process's resident memory, in bytes.
    public static var residentBytes: Int { Watchdog.residentBytes() }

    /// Whether a script was ended by a limit.
    public var isUsedUp: Bool { watchdog.verdict != nil }
}

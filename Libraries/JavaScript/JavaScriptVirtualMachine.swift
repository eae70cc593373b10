import CJavaScriptCore
import Glibc

/// One JavaScriptCore heap. It and its contexts are confined to the thread that created it: the host process has one thread for
/// them.
///
/// After a script was ended by a limit, the machine can't be used any more (its memory isn't released, and the next entry may still
/// throw): end the process.
public final class JavaScriptVirtualMachine {
    let group: JSContextGroupRef
    let watchdog: Watchdog

    /// - Parameter memoryLimit: the resident memory of this process, in bytes, beyond which a script is ended.
    public init(memoryLimit: Int = .max) {
        // The default signal-based traps don't interrupt loops in native code: a script beyond its limit ran for up to 10 s. The
        // variable is read at the first use of the engine.
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

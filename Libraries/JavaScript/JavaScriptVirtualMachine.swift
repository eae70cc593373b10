import CJavaScriptCore
import Glibc

/// One JavaScriptCore heap with any number of contexts. It and its contexts are confined to the thread that created it: the host
/// process has one thread for them.
///
/// When a limit has ended a script of one context, the others go on. But the memory that the script had isn't released, so end the
/// process when they are done.
public final class JavaScriptVirtualMachine {
    let group: JSContextGroupRef
    let watchdog: Watchdog

    /// - Parameter memoryLimit: the resident memory of this process, in bytes, beyond which a script is ended.
    public init(memoryLimit: Int = .max) {
        // Variables are read at the first use of the engine. The default signal-based traps don't interrupt loops in native code: a
        // script beyond its limit ran for up to 10 s.
        setenv("JSC_usePollingTraps", "true", 1)
        // With WebAssembly, there would be memory that is shared, on which `Atomics.wait` stops the thread without using CPU time.
        setenv("JSC_useWasm", "false", 1)
        // Nobody inspects a context, and each one would be registered for it.
        JSRemoteInspectorSetInspectionEnabledByDefault(false)
        group = JSContextGroupCreate()
        watchdog = Watchdog(group: group, memoryLimit: memoryLimit)
    }

    /// A function that does nothing, in a context that lives as long as the machine.
    private(set) lazy var nothing: JSObjectRef? = {
        let context = JSGlobalContextCreateInGroup(group, nil)
        idleContext = context
        let function = JSObjectMakeFunctionWithCallback(context, nil) { context, _, _, _, _, _ in
            JSValueMakeUndefined(context)
        }
        JSValueProtect(context, function)
        return function
    }()
    private var idleContext: JSGlobalContextRef?

    deinit {
        JSContextGroupClearExecutionTimeLimit(group)
        if let idleContext { JSGlobalContextRelease(idleContext) }
        JSContextGroupRelease(group)
    }

    /// This process's resident memory, in bytes.
    public static var residentBytes: Int { Watchdog.residentBytes() }

    /// The resident memory after the last step of a script, in bytes.
    public var residentBytes: Int { watchdog.resident }

    /// The resident memory of this process, in bytes, beyond which a script is ended.
    public var memoryLimit: Int { watchdog.memoryLimit }

    /// Raises the memory limit to an eighth above what the process has, after the script that took the memory has been ended. The
    /// machine is used up then.
    public func giveRoom() {
        watchdog.memoryLimit = watchdog.resident + watchdog.resident / 8
        watchdog.hasEndedScript = true
    }

    /// Asked when the memory limit is exceeded in the middle of a step: whether the running script is to be ended for it, of whose
    /// context the memory has grown by so many bytes in this step. Without it, it always is.
    public var isToBlame: (_ growth: Int) -> Bool {
        get { watchdog.isToBlame }
        set { watchdog.isToBlame = newValue }
    }

    /// Whether a script was ended by a limit.
    public var isUsedUp: Bool { watchdog.hasEndedScript }
}

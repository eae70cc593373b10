import Glibc
import Logging

/// The end of a process that has threads.
public enum ProcessExit {
    /// Ends the process after all logged and printed output is written.
    ///
    /// Unlike `exit`, it runs neither `atexit` handlers nor destructors of libraries: threads of C libraries (TLS, the name
    /// resolver, librdkafka) may still use what these destroy, and the process would occasionally crash instead of ending with its
    /// status.
    public static func now(_ status: Int32) -> Never {
        LoggingSystem.flush()
        fflush(nil)
        _exit(status)
    }
}

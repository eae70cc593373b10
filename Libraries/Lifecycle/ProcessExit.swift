import Glibc
import Logging

/// The end of a process that has threads.
public enum ProcessExit {
    /// Ends the process when what was logged and printed is written.
    ///
    /// Nothing that was registered with `atexit`, and no destructor of a library, is run, unlike with `exit`: threads of C
    /// libraries (TLS, the name resolver, librdkafka) may still be within what those take apart, and the process would now and
    /// then end with a crash instead of its status.
    public static func now(_ status: Int32) -> Never {
        LoggingSystem.flush()
        fflush(nil)
        _exit(status)
    }
}

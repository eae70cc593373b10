private import Ccrash
import Glibc
public import Logging

/// The report of a process that is ended by a signal: one event in its log with the signal, the stack, and the work in progress.
public enum CrashReport {
    /// From now on, reports fatal signals, including stack overflows, in the service's log (standard output).
    ///
    /// The stack has module, offset and mangled symbol of each frame (`swift demangle` reads it). Swift's own backtraces follow if
    /// `SWIFT_BACKTRACE` is set.
    /// - Parameters:
    ///   - name: The process' name in the report.
    ///   - format: The format of the log.
    public static func install(name: String, format: LogFormat) {
        // Never freed, because the signal handler needs it.
        ccrash_install(strdup(name), 1, format == .json ? 1 : 0)
    }

    /// Work in progress that a report names, such as a request. `end` must be called once.
    public struct Work: Sendable {
        private let place: Int32

        /// - Parameter text: A description of the work, of which the first 191 bytes are used. It is written to the log, so it must
        ///   not contain secrets.
        public init(_ text: String) {
            var text = text
            place = text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { ccrash_begin($0.baseAddress, $0.count) }
            }
        }

        /// Marks the work as finished.
        public func end() { ccrash_end(place) }
    }
}

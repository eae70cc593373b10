private import Ccrash
import Glibc
public import Logging

/// What a process leaves when a signal ends it: one event in its log with the signal, the stack, and the work that was in progress.
public enum CrashReport {
    /// Reports fatal signals from now on, and stacks that run over, where the log of a service goes (standard output).
    ///
    /// The stack has module, offset and mangled symbol of each frame (`swift demangle` reads it); Swift's own backtraces
    /// follow where `SWIFT_BACKTRACE` is set.
    /// - Parameters:
    ///   - name: The process' name in the report.
    ///   - format: How the log is written.
    public static func install(name: String, format: LogFormat) {
        // Kept for the life of the process, as the handler needs it.
        ccrash_install(strdup(name), 1, format == .json ? 1 : 0)
    }

    /// Some work that a report names while it is in progress, such as a request. `end` must be called once.
    public struct Work: Sendable {
        private let place: Int32

        /// - Parameter text: What it is and whose, the first 191 bytes count. No secrets: it is written to the log.
        public init(_ text: String) {
            var text = text
            place = text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { ccrash_begin($0.baseAddress, $0.count) }
            }
        }

        /// It is no longer in progress.
        public func end() { ccrash_end(place) }
    }
}

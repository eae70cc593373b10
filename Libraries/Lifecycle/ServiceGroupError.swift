/// Why a group of services failed.
public struct ServiceGroupError: Error, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: Hashable, Sendable {
        private enum Value: Hashable { case finishedUnexpectedly, alreadyRunning, alreadyFinished, deadlineExceeded }
        private let value: Value

        /// A service returned without having been asked to end.
        public static let serviceFinishedUnexpectedly = Code(value: .finishedUnexpectedly)
        /// `run()` was called while the group runs.
        public static let alreadyRunning = Code(value: .alreadyRunning)
        /// `run()` was called a second time.
        public static let alreadyFinished = Code(value: .alreadyFinished)
        /// The graceful shutdown exceeded its time limit, and the remaining services were cancelled.
        public static let deadlineExceeded = Code(value: .deadlineExceeded)
    }

    /// What kind of error it is.
    public let code: Code
    /// What happened, with the name of the service.
    public let message: String

    /// The message.
    public var description: String { message }
}

import HTTPServer

/// Why a service didn't start or failed, in one line for people, with an exit status for programs.
public struct StartFailure: Error, Sendable, CustomStringConvertible {
    /// The exit status of the process, by the numbers of `sysexits.h`.
    public struct Status: Sendable, Hashable {
        /// The number.
        public let rawValue: Int32

        /// The command line is wrong (64).
        public static let usage = Status(rawValue: 64)
        /// The port is in use or can't be listened on (69).
        public static let unavailable = Status(rawValue: 69)
        /// An unexpected error (70).
        public static let software = Status(rawValue: 70)
        /// The service isn't to blame, and has to be started again (75).
        public static let again = Status(rawValue: 75)
        /// The configuration is wrong (78).
        public static let configuration = Status(rawValue: 78)
    }

    /// The exit status of the process.
    public let status: Status
    /// What went wrong and what to do about it.
    public let message: String

    /// Makes a failure. A service's `Make` closure may throw it, too.
    public init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The message.
    public var description: String { message }

    /// Makes a failure for an error that a service threw while it was made or run.
    init(_ error: any Error, settings: ServiceSettings) {
        switch error {
        case let failure as StartFailure: self = failure
        case let error as ConfigurationError: self.init(.configuration, "configuration: \(error)")
        case let error as HTTPServerError where error.code == .portInUse:
            let name = ServiceSettings.port(default: settings.port).description.environmentName
            self.init(
                .unavailable,
                "port \(settings.port) is in use: stop the program that listens there (ss -ltnp 'sport = :\(settings.port)'"
                    + " names it), or set http.port or \(name) to another")
        case let error as HTTPServerError where error.code == .cannotListen:
            self.init(
                .unavailable, "can't listen on \(settings.address), port \(settings.port): \(error.message)")
        default: self.init(.software, "\(error)")
        }
    }
}

import Cuv

/// What libuv refused to do.
public struct UVError: Error, CustomStringConvertible, Sendable {
    /// libuv's code: the negated `errno`.
    public let code: Int32

    /// Makes an error of libuv's code.
    public init(_ code: Int32) { self.code = code }

    /// libuv's text for the code.
    public var description: String { String(cString: uv_strerror(code)) }

    /// For what can fail only when the process has no descriptors, threads or memory left, at its start.
    static func expectSuccess(_ status: Int32, _ what: StaticString) {
        precondition(status == 0, "\(what): \(UVError(status))")
    }
}

import Cuv

/// An error of libuv.
public struct UVError: Error, CustomStringConvertible, Sendable {
    /// libuv's code: the negated `errno`.
    public let code: Int32

    /// Makes an error from libuv's code.
    public init(_ code: Int32) { self.code = code }

    /// libuv's text for the code.
    public var description: String { String(cString: uv_strerror(code)) }

    /// For calls at the start of the process that can fail only when it has no descriptors, threads or memory left.
    static func expectSuccess(_ status: Int32, _ what: StaticString) {
        precondition(status == 0, "\(what): \(UVError(status))")
    }
}

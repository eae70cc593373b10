/// How callers end work in memory before it is done: they cancel the task, or set a check of their own, such as a limit in time.
///
/// A struct around the closure, not the closure itself: Swift 6.3 with `-O` passes a `@TaskLocal` of an optional closure to the
/// runtime in a form that it takes for another one, and the process dies when the value is set.
public struct Interruption: Sendable {
    /// The check of the task that runs, if its caller set one.
    @TaskLocal public static var current: Interruption?

    /// Gives the error that the work is to end with, once it is to end. Looked at between documents and within long work on one.
    public let check: @Sendable () -> QueryError?

    public init(check: @escaping @Sendable () -> QueryError?) { self.check = check }
}

extension QueryError {
    /// - Throws: 11601 (`Interrupted`) when the task has been cancelled, or what `Interruption.check` gives.
    package static func throwIfInterrupted() throws(QueryError) {
        guard !Task.isCancelled else { throw QueryError(code: 11601, message: "operation was interrupted") }
        if let error = Interruption.current?.check() { throw error }
    }
}

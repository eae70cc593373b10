/// Lets callers end work in memory early: they cancel the task, or set their own check, such as a time limit.
///
/// It is a struct around the closure, not the closure itself: Swift 6.3 with `-O` passes a `@TaskLocal` with an optional closure to
/// the runtime in a wrong form, and the process crashes when the value is set.
public struct Interruption: Sendable {
    /// The check of the current task; `nil` if no caller has set one.
    @TaskLocal public static var current: Interruption?

    /// Returns the error with which the work has to end, or `nil` to continue. It is called between documents and within long work
    /// on one.
    public let check: @Sendable () -> QueryError?

    public init(check: @escaping @Sendable () -> QueryError?) { self.check = check }
}

extension QueryError {
    /// - Throws: 11601 (`Interrupted`) if the task has been cancelled, or the error of `Interruption.check`.
    package static func throwIfInterrupted() throws(QueryError) {
        guard !Task.isCancelled else { throw QueryError(code: 11601, message: "operation was interrupted") }
        if let error = Interruption.current?.check() { throw error }
    }
}

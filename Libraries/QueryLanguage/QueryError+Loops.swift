import DocumentModel

extension QueryError {
    /// `throwIfInterrupted` for loops, which checks only once in a while.
    @inline(__always)
    static func throwIfInterrupted(every turn: Int) throws(QueryError) {
        if turn & 255 == 255 { try throwIfInterrupted() }
    }
}

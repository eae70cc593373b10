import DocumentModel

extension QueryError {
    /// `throwIfInterrupted`, in a loop: looks now and then.
    @inline(__always)
    static func throwIfInterrupted(every turn: Int) throws(QueryError) {
        if turn & 255 == 255 { try throwIfInterrupted() }
    }
}

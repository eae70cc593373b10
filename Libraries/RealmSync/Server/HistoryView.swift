package import DocumentModel

/// What a gateway knows of a partition's history without a look at the database: its end, and what was used last.
package struct HistoryView: Sendable {
    package var tail = HistoryTail()
    package var memory = HistoryMemory()

    package init() {}

    /// Others have changed the history, or may have: nothing is known any more.
    package mutating func forget() {
        memory = HistoryMemory()
        tail.request()
    }

    /// Uploads were committed.
    /// - Parameters:
    ///   - former: What the history was.
    ///   - reached: The revision up to which it has the changes of documents now.
    ///   - request: The last one of the tail before the transaction.
    package mutating func committed(
        _ addition: HistoryAddition, after former: HistoryStanding, reaching reached: Revision, request: Int
    ) {
        var standing = former
        if let last = addition.entries.last { (standing.version, standing.salt) = (last.version, last.salt) }
        standing.revision = reached
        for change in addition.files {
            memory.keep(change.file)
            memory.keep(change.forms, of: change.file)
        }
        memory.advance(addition.objects, from: former.salt, to: standing.salt)
        // Then nobody else has written until the commit, which is as good as having read it then.
        if let writes = addition.writes, reached > writes.since {
            tail.take(standing, HistoryPart(after: former.salt, addition.entries), for: request)
        } else {
            tail.request()
        }
    }

    /// What others have done was appended.
    package mutating func absorbed(_ addition: HistoryAddition, after former: HistoryStanding) {
        if addition.isReset { memory = HistoryMemory() }
        memory.advance(addition.objects, from: former.salt, to: addition.entries.last?.salt ?? former.salt)
    }
}

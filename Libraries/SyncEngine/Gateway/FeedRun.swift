public import DocumentModel

/// What a gateway makes one live frame of: consecutive changes of a partition, as the topic brought them.
public enum FeedRun<Change: Sendable>: Sendable {
    /// A message of the topic.
    public enum Message: Sendable {
        case change(Change, Revision)
        /// A change that is too large for the topic, or a head: it says only that there is this revision.
        case announcement(Revision)
    }

    /// Changes whose revisions follow each other.
    case changes([Change], from: Revision, to: Revision)
    /// A frame without changes that doesn't continue the one before: a subscription that hasn't reached its revision detects a gap,
    /// and catches up.
    case announcement(Revision)

    /// Divides messages of one partition, in the order of the topic, into runs.
    public static func runs(of messages: some Sequence<Message>) -> [FeedRun] {
        var runs: [FeedRun] = []
        var changes: [Change] = []
        var first: Revision?
        var last = EpochHistory.beginning
        func finish() {
            guard let begin = first else { return }
            // In the epoch of the changes.
            let from = Revision(epoch: begin.epoch, number: begin.number - 1)
            runs.append(.changes(changes, from: from, to: last))
            changes = []
            first = nil
        }
        for message in messages {
            switch message {
            case .change(let change, let revision):
                if revision.epoch != last.epoch || revision.number != last.number + 1 { finish() }
                if first == nil { first = revision }
                changes.append(change)
                last = revision
            case .announcement(let revision):
                finish()
                runs.append(.announcement(revision))
            }
        }
        finish()
        return runs
    }
}

public import DocumentModel

/// Makes live frames of one partition's messages of the topic: each frame ends where a commit ends, so that no device shows a part of
/// one, wherever the relay or the broker has cut the messages. What the topic brings again makes no frame.
///
/// The changes of an unfinished commit are held until its last one has come. Those that exceed the limit are dropped: the frame with
/// the commit's end doesn't continue what was sent, and subscriptions read the commit from Postgres, which has it as a whole.
///
/// A commit of this process needn't wait for the topic: when it continues what was delivered, its frame is made at once. When others
/// have committed before it, it waits until the topic has brought those; if that takes too many, the topic brings it, too.
public struct FeedAssembly<Change: Sendable>: Sendable {
    /// A message of the topic.
    public enum Message: Sendable {
        /// - Parameters:
        ///   - size: The size of the message in bytes.
        ///   - continues: Whether the next revision of the partition belongs to the same commit.
        case change(Change, Revision, size: Int, continues: Bool)
        /// A change that is too large for the topic, or a head: it says only that there is this revision.
        case announcement(Revision)
    }

    /// What a frame is made of.
    public enum Run: Sendable {
        /// The changes of whole commits, whose revisions follow each other.
        case changes([Change], from: Revision, to: Revision)
        /// A frame without changes that doesn't continue the one before: a subscription that hasn't reached its revision detects a gap,
        /// and catches up.
        case announcement(Revision)

        /// The revision up to which a subscription has the partition after it.
        public var to: Revision {
            switch self {
            case .changes(_, _, let to): to
            case .announcement(let revision): revision
            }
        }
    }

    private let limit: Int
    /// The most commits of this process that wait for those of others.
    private static var aheadLimit: Int { 64 }

    /// A commit of this process that doesn't continue what was delivered.
    private struct Ahead: Sendable {
        let changes: [Change]
        let to: Revision
        let size: Int
    }
    /// By the revision that they continue.
    private var ahead: [Revision: Ahead] = [:]
    private var aheadBytes = 0
    /// The revision up to which runs were made.
    private var made = EpochHistory.beginning
    /// Changes whose revisions follow each other and end with `last`.
    private var held: [Change] = []
    private var last = EpochHistory.beginning
    /// How many of them belong to commits that have ended, and the size in bytes of those that don't.
    private var whole = 0
    private var unfinishedBytes = 0

    /// - Parameter limit: The size in bytes up to which an unfinished commit is held, and up to which commits of this process wait.
    public init(limit: Int) { self.limit = limit }

    /// Whether a change with this revision would make no frame, since it was taken before: it needn't be read.
    public func hasTaken(_ revision: Revision) -> Bool {
        revision.epoch == last.epoch && revision.number <= last.number
    }

    /// Takes the next messages, in the order of the topic, and returns what frames can be made of.
    public mutating func take(_ messages: some Sequence<Message>) -> [Run] {
        var runs: [Run] = []
        for message in messages {
            switch message {
            case .change(let change, let revision, let size, let continues):
                if hasTaken(revision) { continue }
                if revision.epoch != last.epoch || revision.number != last.number + 1 {
                    release(&runs)
                    drop()
                }
                held.append(change)
                last = revision
                unfinishedBytes += size
                if !continues {
                    whole = held.count
                    unfinishedBytes = 0
                } else if unfinishedBytes > limit {
                    release(&runs)
                    drop()
                }
            case .announcement(let revision):
                release(&runs)
                made = max(made, revision)
                runs.append(.announcement(revision))
            }
        }
        release(&runs)
        releaseAhead(&runs)
        return runs
    }

    /// Takes the changes of a whole commit of this process, and returns what frames can be made of.
    /// - Parameters:
    ///   - from: The revision that they continue: that of the partition before the commit.
    ///   - size: Their approximate size in bytes.
    public mutating func take(own changes: [Change], from: Revision, size: Int) -> [Run] {
        // What is too large for the topic's commits is read from Postgres, in chunks.
        guard from >= made, !changes.isEmpty, size <= limit else { return [] }
        let to = Revision(epoch: from.epoch, number: from.number + Int64(changes.count))
        if from > made, ahead.count >= Self.aheadLimit || aheadBytes + size > limit { forgetAhead() }
        if ahead.updateValue(Ahead(changes: changes, to: to, size: size), forKey: from) == nil { aheadBytes += size }
        var runs: [Run] = []
        releaseAhead(&runs)
        return runs
    }

    /// Passes on the commits of this process that continue what was delivered.
    private mutating func releaseAhead(_ runs: inout [Run]) {
        guard !ahead.isEmpty else { return }
        while let next = ahead.removeValue(forKey: made) {
            aheadBytes -= next.size
            runs.append(.changes(next.changes, from: made, to: next.to))
            made = next.to
            // What the topic has brought of it is a part of it.
            if made.epoch != last.epoch || made.number >= last.number { (last, held, unfinishedBytes) = (made, [], 0) }
        }
        let passed = ahead.filter { $0.key < made }
        for (from, commit) in passed {
            ahead[from] = nil
            aheadBytes -= commit.size
        }
    }

    private mutating func forgetAhead() {
        ahead = [:]
        aheadBytes = 0
    }

    /// Passes on the commits that have ended.
    private mutating func release(_ runs: inout [Run]) {
        guard whole > 0 else { return }
        // In the epoch of the changes.
        let from = Revision(epoch: last.epoch, number: last.number - Int64(held.count))
        let to = Revision(epoch: last.epoch, number: from.number + Int64(whole))
        runs.append(.changes(Array(held.prefix(whole)), from: from, to: to))
        made = max(made, to)
        held.removeFirst(whole)
        whole = 0
    }

    /// Forgets an unfinished commit.
    private mutating func drop() {
        held = []
        unfinishedBytes = 0
    }
}

import DocumentModel
import EventStream
import EventTopics
import Testing

@testable import ChangeStream

@Suite struct ChangeBacklogTests {
    private let key = ChangeBacklog.Key(app: "a", partition: Partition(text: "s:p"))

    private func event(
        _ partition: String, _ number: Int64, epoch: Int32 = 1, of collection: String = "c"
    ) -> ReceivedEvent<DocumentChangesEvent> {
        let revision = Revision(epoch: epoch, number: number)
        return ReceivedEvent(
            .change(
                ChangeEvent(
                    app: "a", namespace: .init(database: "db", collection: collection), operationType: .insert,
                    documentKey: .int64(number), partition: Partition(text: partition), revision: revision,
                    incarnation: revision, clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 0)))
    }

    private func head(_ number: Int64) -> ReceivedEvent<DocumentChangesEvent> {
        ReceivedEvent(
            .head(
                PartitionHead(app: "a", partition: key.partition, head: Revision(epoch: 1, number: number), time: 0)))
    }

    @Test func `a partition is behind from a change over the budget until all skipped ones are handled`() throws {
        let backlog = ChangeBacklog()
        #expect(!backlog.takes(event("s:p", 1), isOverBudget: false))
        #expect(backlog.takes(event("s:p", 2), isOverBudget: true))
        #expect(backlog.takes(event("s:p", 3), isOverBudget: false))
        #expect(!backlog.takes(event("s:q", 1), isOverBudget: false))
        #expect(!backlog.takes(head(3), isOverBudget: true))

        let taken = backlog.next()
        #expect(taken.map(\.key) == [key])
        let span = try #require(taken.first?.span)
        #expect(span == .init(first: Revision(epoch: 1, number: 2), last: Revision(epoch: 1, number: 3)))
        #expect(backlog.next().isEmpty)
        // More changes were skipped while it was read.
        #expect(backlog.takes(event("s:p", 4), isOverBudget: false))
        backlog.finish(key, span)
        #expect(backlog.contains(key))
        let rest = try #require(backlog.next().first?.span)
        #expect(rest.last == Revision(epoch: 1, number: 4))
        backlog.finish(key, rest)
        #expect(!backlog.contains(key))
        #expect(!backlog.takes(event("s:p", 5), isOverBudget: false))
    }

    @Test func `however long partitions of a collection are read, those of others are read beside them`() {
        let backlog = ChangeBacklog()
        func skip(_ partitions: [String], of collection: String) {
            for partition in partitions {
                #expect(backlog.takes(event(partition, 1, of: collection), isOverBudget: true))
            }
        }
        func taken() -> [String] { backlog.next().map(\.key.partition.text) }
        func key(_ partition: String) -> ChangeBacklog.Key { .init(app: "a", partition: Partition(text: partition)) }
        skip((1...9).map { "s:\($0)" }, of: "slow")
        #expect(taken() == ["s:1", "s:2", "s:3", "s:4"])
        skip(["s:a", "s:b"], of: "quick")
        skip((1...9).map { "s:o\($0)" }, of: "other")
        // The collections take turns, up to eight partitions.
        #expect(taken() == ["s:a", "s:o1", "s:b", "s:o2"])
        for partition in ["s:1", "s:2", "s:3", "s:4", "s:o1", "s:o2"] { backlog.takesLong(key(partition)) }
        // They count for their collections still.
        #expect(taken() == ["s:o3", "s:o4"])
        for partition in ["s:o3", "s:o4"] { backlog.takesLong(key(partition)) }
        #expect(taken().isEmpty)
        skip(["s:c"], of: "quick")
        #expect(taken() == ["s:c"])
        // The first goes on after those of its collection that wait.
        backlog.giveUp(key("s:1"), isOurs: true)
        #expect(taken() == ["s:5"])
        backlog.finish(key("s:2"), .init(first: Revision(epoch: 1, number: 1), last: Revision(epoch: 1, number: 1)))
        #expect(taken() == ["s:6"])
        #expect(backlog.contains(key("s:1")) && !backlog.contains(key("s:2")))
    }

    @Test func `partitions whose first changes come after gaps count for their collections, too`() {
        let backlog = ChangeBacklog()
        for (collection, number) in [("slow", 9), ("quick", 1)] {
            for partition in 0..<number {
                let key = ChangeBacklog.Key(app: "a", partition: Partition(text: "s:\(collection)\(partition)"))
                backlog.check(
                    [key: .init(revision: Revision(epoch: 1, number: 5), collection: ExactText("db.\(collection)"))],
                    [:])
            }
        }
        let taken = backlog.next().map(\.key.partition.text)
        #expect(taken == ["s:slow0", "s:quick0", "s:slow1", "s:slow2", "s:slow3"])
    }

    @Test func `a first change after a gap is skipped`() {
        func first(_ number: Int64, epoch: Int32 = 1, _ progress: HandledEvents.Progress?) -> Bool {
            let backlog = ChangeBacklog()
            #expect(backlog.unchecked([key]) == [key])
            backlog.check(
                [key: .init(revision: Revision(epoch: epoch, number: number))], progress.map { [key: $0] } ?? [:])
            #expect(backlog.unchecked([key]).isEmpty)
            backlog.partitionsMoved()
            #expect(backlog.unchecked([key]) == [key])
            #expect(backlog.takeMoved())
            #expect(!backlog.takeMoved())
            return backlog.contains(key)
        }
        #expect(!first(1, nil))
        #expect(first(2, nil))
        let ten = HandledEvents.Progress(watermark: 10, above: [12])
        for number: Int64 in [3, 10, 11] { #expect(!first(number, ten)) }
        #expect(first(12, ten))
        #expect(first(15, ten))
        // After a restore, numbers go on behind what the database still has: what is missing up to there is a gap, and what was handled
        // from there on is another change.
        #expect(first(15, epoch: 2, ten))
        #expect(first(12, epoch: 2, ten))
        for number: Int64 in [3, 10, 11] { #expect(!first(number, epoch: 2, ten)) }

        let unknown = ChangeBacklog()
        unknown.check([key: .init(revision: Revision(epoch: 1, number: 1))], nil)
        #expect(unknown.contains(key))
    }

    @Test func `a few partitions of an app are read at a time, and those of others beside them`() {
        let backlog = ChangeBacklog()
        for number in 0..<10 { _ = backlog.takes(event("s:\(number)", 1), isOverBudget: true) }
        let first = backlog.next()
        #expect(first.map(\.key.partition.text) == ["s:0", "s:1", "s:2", "s:3"])
        #expect(backlog.next().isEmpty)
        backlog.finish(first[1].key, first[1].span)
        backlog.giveUp(first[2].key, isOurs: true)
        backlog.giveUp(first[3].key, isOurs: false)
        #expect(backlog.next().map(\.key.partition.text) == ["s:4", "s:5", "s:6"])
        #expect(backlog.contains(first[2].key))
        #expect(!backlog.contains(first[3].key))
    }
}

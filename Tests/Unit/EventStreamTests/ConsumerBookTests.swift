import Testing

@testable import EventStream

@Suite struct ConsumerBookTests {
    private typealias Book = ConsumerBook<String>

    private static func book(canDefer: Bool = false, pendingEvents: Int = 4) -> Book {
        var options = EventConsumerOptions()
        options.concurrency = 4
        options.batchLimit = 2
        options.pendingEvents = pendingEvents
        var book = Book(options, canDefer: canDefer)
        book.assign([0, 1])
        return book
    }

    private static func read(_ offset: Int64, of partition: Int32, lane: String, _ book: inout Book) {
        book.begin(offset, of: partition)
        book.append(
            .init(event: "\(partition)/\(offset)", partition: partition, offset: offset, bytes: 1), to: lane, of: "app",
            member: nil)
    }

    private static func taken(_ book: inout Book) throws -> Book.Lanes.Work {
        let work = book.take()
        return try #require(work)
    }

    @Test func `an offset advances when all before it are handled or need no handling`() throws {
        var book = Self.book()
        Self.read(5, of: 0, lane: "a", &book)
        Self.read(6, of: 0, lane: "b", &book)
        book.begin(7, of: 0)
        var left: Book.Offsets = [:]
        book.leave(7, of: 0, &left)
        #expect(left.isEmpty && book.uncommitted == 3)
        let a = try Self.taken(&book)
        let b = try Self.taken(&book)
        let none = book.take()
        #expect(none?.lane == nil)
        let answer = book.finish(b)
        #expect(answer.offsets.isEmpty)
        let answer2 = book.finish(a)
        #expect(answer2.offsets == [0: 8])
        #expect(book.uncommitted == 0)
    }

    @Test func `a revoked partition drops waiting events, and keeps running ones until they end`() throws {
        var book = Self.book()
        Self.read(1, of: 0, lane: "a", &book)
        let work = try Self.taken(&book)
        Self.read(2, of: 0, lane: "b", &book)
        Self.read(1, of: 1, lane: "c", &book)
        let answer3 = book.revoke([0])
        #expect(answer3.dropped.map(\.event) == ["0/2"])
        #expect(book.owned == [1])
        #expect(book.isRunning([0]) && !book.isRunning([1]))
        let answer4 = book.finish(work)
        #expect(answer4.offsets == [0: 2], "up to the dropped message, and not past it")
        _ = book.ended(work)
        #expect(!book.isRunning())
        book.forget([0])
        #expect(book.uncommitted == 1)
        let other = try Self.taken(&book)
        #expect(other.entries.map(\.event) == ["1/1"])
    }

    @Test func `a partition that stays full is paused, and resumed when half of it is gone`() throws {
        var book = Self.book()
        for offset: Int64 in 1...4 { Self.read(offset, of: 0, lane: "\(offset)", &book) }
        let now = ContinuousClock.now
        let answer5 = book.relieve(now)
        #expect(answer5.mustWait)
        let answer6 = book.relieve(now + .seconds(2))
        #expect(answer6.pause == [0])
        var answers: [(isRelieved: Bool, resume: [Int32])] = []
        while let work = book.take() {
            _ = book.finish(work)
            answers.append(book.ended(work))
        }
        #expect(answers.map(\.resume) == [[], [0], [], []])
    }

    @Test func `events that can be deferred don't hold offsets up for ever`() throws {
        var book = Self.book(canDefer: true, pendingEvents: 2)
        Self.read(1, of: 0, lane: "hangs", &book)
        let hanging = try Self.taken(&book)
        for offset: Int64 in 2...4 {
            book.begin(offset, of: 0)
            var left: Book.Offsets = [:]
            book.leave(offset, of: 0, &left)
            #expect(left.isEmpty)
        }
        let answer7 = book.relieve(.now)
        #expect(answer7.offsets == [0: 5])
        let answer8 = book.finish(hanging)
        #expect(answer8.offsets.isEmpty)
    }

    @Test func `an event that is postponed is delivered again when it is due`() throws {
        var book = Self.book()
        Self.read(1, of: 0, lane: "a", &book)
        let now = ContinuousClock.now
        let work = try Self.taken(&book)
        book.postpone(work, until: now + .seconds(1))
        _ = book.ended(work)
        let answer9 = book.wake(now)
        #expect(answer9 == now + .seconds(1))
        let none = book.take()
        #expect(none?.lane == nil)
        let answer10 = book.wake(now + .seconds(1))
        #expect(answer10 == nil)
        let again = try Self.taken(&book)
        #expect(again.failures == 1)
    }
}

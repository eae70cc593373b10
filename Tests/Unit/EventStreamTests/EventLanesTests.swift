import DocumentModel
import Testing

@testable import EventStream

@Suite struct EventLanesTests {
    private func lanes(_ events: (lane: String, event: Int)...) -> EventLanes<Int> {
        var lanes = EventLanes<Int>(places: 16)
        for (lane, event) in events {
            lanes.append(
                .init(event: event, partition: 0, offset: Int64(event), bytes: 10), to: ExactText(lane),
                of: ExactText(lane))
        }
        return lanes
    }

    private func events(_ work: EventLanes<Int>.Work?) -> [Int]? { work?.entries.map(\.event) }

    @Test func `a running lane delivers nothing more, others do`() {
        var lanes = lanes(("a", 1), ("b", 2), ("a", 3), ("a", 4))
        #expect(events(lanes.take(limit: 2)) == [1, 3])
        #expect(events(lanes.take(limit: 2)) == [2])
        #expect(lanes.take(limit: 2) == nil)
        #expect(lanes.finish("a").map(\.event) == [1, 3])
        #expect(events(lanes.take(limit: 2)) == [4])
        #expect(lanes.finish("b").count == 1)
        #expect(lanes.finish("b").isEmpty)
        #expect(lanes.loads == [0: .init(events: 1, bytes: 10)])
        _ = lanes.finish("a")
        #expect(lanes.loads.isEmpty)
    }

    @Test func `events that failed together are retried one by one, then in batches`() {
        var lanes = lanes(("a", 1), ("a", 2), ("a", 3), ("a", 4), ("a", 5))
        #expect(events(lanes.take(limit: 3)) == [1, 2, 3])
        lanes.isolate("a")
        for event in 1...3 {
            #expect(events(lanes.take(limit: 3)) == [event])
            _ = lanes.finish("a")
        }
        #expect(events(lanes.take(limit: 3)) == [4, 5])
    }

    @Test func `a failed event holds its lane up until its time comes`() {
        var lanes = lanes(("a", 1), ("b", 2))
        let now = ContinuousClock.now
        _ = lanes.take(limit: 1)
        lanes.postpone("a", until: now + .seconds(5))
        lanes.append(.init(event: 3, partition: 0, offset: 3, bytes: 1), to: "a", of: "a")
        #expect(events(lanes.take(limit: 1)) == [2])
        #expect(lanes.take(limit: 1) == nil)
        #expect(lanes.wake(now: now) == now + .seconds(5))
        #expect(lanes.take(limit: 1) == nil)
        #expect(lanes.wake(now: now + .seconds(6)) == nil)
        let work = lanes.take(limit: 9)
        #expect(events(work) == [1])
        #expect(work?.failures == 1)
        _ = lanes.finish("a")
        #expect(lanes.take(limit: 9)?.failures == 0)
    }

    @Test func `waiting events are dropped with their partition, running ones aren't`() {
        var lanes = EventLanes<Int>(places: 16)
        for (event, partition) in [(1, 0), (2, 0), (3, 1)] as [(Int, Int32)] {
            lanes.append(
                .init(event: event, partition: partition, offset: nil, bytes: 1), to: partition == 0 ? "a" : "b",
                of: "ab")
        }
        #expect(events(lanes.take(limit: 1)) == [1])
        #expect(lanes.drop([0]).map(\.event) == [2])
        #expect(events(lanes.take(limit: 5)) == [3])
        #expect(lanes.finish("a").map(\.event) == [1])
        #expect(lanes.take(limit: 5) == nil)
        #expect(lanes.count == 1)
    }

    @Test func `injected events count for their share, and for no Kafka partition`() {
        var lanes = EventLanes<Int>(places: 16)
        lanes.append(.init(event: 1, partition: 0, offset: 1, bytes: 10), to: "a", of: "app")
        lanes.append(.init(event: 2, partition: 0, offset: nil, bytes: 5), to: "b", of: "app")
        #expect(lanes.loads == [0: .init(events: 1, bytes: 10)])
        #expect(lanes.shares == ["app": .init(events: 2, bytes: 15)])
        #expect(events(lanes.take(limit: 1)) == [1])
        #expect(lanes.drop([0]).map(\.event) == [2])
        #expect(lanes.shares == ["app": .init(events: 1, bytes: 10)])
        _ = lanes.finish("a")
        #expect(lanes.loads.isEmpty)
        #expect(lanes.shares.isEmpty)
    }

    @Test func `at the end nothing is left, whatever runs`() {
        var lanes = lanes(("a", 1), ("a", 2), ("b", 3))
        _ = lanes.take(limit: 1)
        #expect(Set(lanes.removeAll().map(\.event)) == [1, 2, 3])
        #expect(lanes.count == 0)
        #expect(lanes.take(limit: 1) == nil)
    }

    @Test func `a lane that was dropped and began again is delivered once`() {
        var lanes = lanes(("a", 1))
        _ = lanes.drop([0])
        lanes.append(.init(event: 2, partition: 0, offset: nil, bytes: 1), to: "a", of: "a")
        #expect(events(lanes.take(limit: 5)) == [2])
        #expect(lanes.take(limit: 5) == nil)
        #expect(lanes.finish("a").map(\.event) == [2])
    }

    @Test func `lanes of one share leave places to others, and get them back`() {
        var lanes = EventLanes<Int>(places: 4)
        for event in 0..<8 {
            let entry = EventLanes<Int>.Entry(event: event, partition: 0, offset: nil, bytes: 1)
            lanes.append(entry, to: "a\(event)", of: "a")
        }
        #expect(events(lanes.take(limit: 1)) == [0])
        #expect(events(lanes.take(limit: 1)) == [1])
        #expect(lanes.take(limit: 1) == nil)
        lanes.append(.init(event: 9, partition: 0, offset: nil, bytes: 1), to: "b", of: "b")
        #expect(events(lanes.take(limit: 1)) == [9])
        #expect(lanes.take(limit: 1) == nil)
        _ = lanes.finish("b")
        lanes.postpone("a0", until: .now)
        #expect(events(lanes.take(limit: 1)) == [2])
    }
}

import Testing

@testable import EventStream

@Suite struct PartitionPressureTests {
    private let now = ContinuousClock.now
    private let full = PartitionPressure.Load(events: 10, bytes: 0, uncommitted: 10)
    private let half = PartitionPressure.Load(events: 5, bytes: 0, uncommitted: 5)

    @Test func `a full partition is waited for first, and paused when it stays full`() {
        var pressure = PartitionPressure(eventLimit: 10, byteLimit: 1000)
        #expect(pressure.assess([0: half, 1: half], now: now) == (pause: [], mustWait: false))
        #expect(pressure.assess([0: full, 1: half], now: now) == (pause: [], mustWait: true))
        #expect(pressure.relieved(0, full) == (wasFull: false, resume: false))
        #expect(pressure.relieved(0, half) == (wasFull: true, resume: false))
        #expect(pressure.assess([0: full, 1: half], now: now) == (pause: [], mustWait: true))
        #expect(pressure.assess([0: full, 1: half], now: now + .seconds(2)) == (pause: [0], mustWait: false))
        #expect(pressure.assess([0: full, 1: half], now: now + .seconds(3)) == (pause: [], mustWait: false))
        #expect(pressure.relieved(0, half) == (wasFull: true, resume: true))
        #expect(pressure.paused.isEmpty)
    }

    @Test func `bytes, and an early event that holds up thousands, are pressure too`() {
        var pressure = PartitionPressure(eventLimit: 10, byteLimit: 1000)
        #expect(pressure.assess([0: .init(events: 1, bytes: 1000, uncommitted: 1)], now: now).mustWait)
        #expect(pressure.assess([1: .init(events: 1, bytes: 10, uncommitted: 40)], now: now).mustWait)
        #expect(pressure.relieved(1, .init(events: 1, bytes: 10, uncommitted: 21)) == (wasFull: false, resume: false))
        #expect(pressure.relieved(1, .init(events: 1, bytes: 10, uncommitted: 1)) == (wasFull: true, resume: false))
    }

    @Test func `a partition that leaves takes its pause along`() {
        var pressure = PartitionPressure(eventLimit: 10, byteLimit: 1000)
        _ = pressure.assess([0: full, 1: full], now: now)
        _ = pressure.assess([0: full, 1: full], now: now + .seconds(2))
        #expect(pressure.forget([0, 7]) == [0])
        #expect(pressure.paused == [1])
        #expect(pressure.assess([0: full], now: now + .seconds(2)) == (pause: [], mustWait: true))
    }
}

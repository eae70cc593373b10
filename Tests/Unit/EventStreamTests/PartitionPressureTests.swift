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

    @Test
    func
        `where events can be left for later, a full partition leaves those of who holds much, and is paused at twice the limit`()
    {
        var pressure = PartitionPressure(eventLimit: 100, byteLimit: 1000, canSpill: true)
        let full = PartitionPressure.Load(events: 100), twice = PartitionPressure.Load(events: 200)
        let much = PartitionPressure.Load(events: 25), little = PartitionPressure.Load(events: 24)
        #expect(pressure.assess([0: full], now: now) == (pause: [], mustWait: true))
        #expect(!pressure.isOverBudget(much))
        #expect(pressure.assess([0: full], now: now + .seconds(2)) == (pause: [], mustWait: false))
        #expect(pressure.isOverBudget(much))
        #expect(pressure.isOverBudget(.init(events: 1, bytes: 250)))
        #expect(!pressure.isOverBudget(little))
        #expect(pressure.assess([0: twice], now: now + .seconds(3)) == (pause: [], mustWait: true))
        #expect(pressure.assess([0: twice], now: now + .seconds(5)) == (pause: [0], mustWait: false))
        #expect(pressure.relieved(0, .init(events: 50)) == (wasFull: true, resume: true))
        #expect(!pressure.isOverBudget(much))
    }

    @Test func `an early event holds offsets up only if nothing else delivers events again`() {
        let load = PartitionPressure.Load(events: 1, bytes: 1, uncommitted: 20)
        #expect(PartitionPressure(eventLimit: 10, byteLimit: 10, canSpill: true).mustLetGo(load))
        #expect(!PartitionPressure(eventLimit: 11, byteLimit: 10, canSpill: true).mustLetGo(load))
        #expect(!PartitionPressure(eventLimit: 10, byteLimit: 10).mustLetGo(load))
    }

    @Test func `the pause of a partition ends when the partition is revoked`() {
        var pressure = PartitionPressure(eventLimit: 10, byteLimit: 1000)
        _ = pressure.assess([0: full, 1: full], now: now)
        _ = pressure.assess([0: full, 1: full], now: now + .seconds(2))
        #expect(pressure.forget([0, 7]) == [0])
        #expect(pressure.paused == [1])
        #expect(pressure.assess([0: full], now: now + .seconds(2)) == (pause: [], mustWait: true))
    }
}

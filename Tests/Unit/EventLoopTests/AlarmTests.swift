import EventLoop
import TestSupport
import Testing

struct AlarmTests {
    @Test func `it rings at the earliest time that was set, once`() async throws {
        let alarm = Alarm()
        let start = ContinuousClock.now
        alarm.set(start + .seconds(600))
        alarm.set(start + .milliseconds(50))
        alarm.set(start + .seconds(300))
        try await alarm.ring()
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        // The later ones went with it.
        let second = Task { try await alarm.ring() }
        try await Task.sleep(for: .milliseconds(50))  // time in which it could ring
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
    }

    @Test func `an earlier time wakes a task that waits for a later one`() async throws {
        let alarm = Alarm()
        alarm.set(.now + .seconds(600))
        let isOver = Locked(false)
        let waiting = Task {
            try await alarm.ring()
            isOver.withLock { $0 = true }
        }
        alarm.set()
        try await eventually("it rings") { isOver.withLock { $0 } }
        try await waiting.value
    }

    @Test func `a time that is set while no task waits is not lost`() async throws {
        let alarm = Alarm()
        for _ in 0..<3 { alarm.set() }
        try await alarm.ring()
        alarm.set()
        try await alarm.ring()
    }

    @Test func `every set is followed by a ring`() async throws {
        let alarm = Alarm()
        let (asked, answered) = (Locked(0), Locked(0))
        let ringing = Task {
            while (try? await alarm.ring()) != nil {
                let number = asked.withLock { $0 }
                answered.withLock { $0 = number }
            }
        }
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        asked.withLock { $0 += 1 }
                        alarm.set(number % 2 == 0 ? .now : .now + .microseconds(100))
                    }
                }
            }
        }
        try await eventually("the last one is answered") { answered.withLock { $0 } == 4000 }
        ringing.cancel()
        await ringing.value
    }
}

import SyncEngine
import Testing

@Suite struct SuspectTrialTests {
    @Test func `a suspect waits for as long as the connection lasted with it`() {
        var trial = SuspectTrial()
        trial.connected(now: .seconds(10))
        #expect(trial.wait(now: .seconds(10)) == .zero)
        trial.uploaded(now: .seconds(11))
        let isFirstHeldAgainstIt = trial.connectionLost(now: .seconds(41))
        #expect(!isFirstHeldAgainstIt, "the connection stood for a second only before it")

        trial.connected(now: .seconds(50))
        #expect(trial.wait(now: .seconds(60)) == .seconds(20))
        #expect(trial.wait(now: .seconds(80)) == .zero)
        trial.uploaded(now: .seconds(81))
        let isSecondHeldAgainstIt = trial.connectionLost(now: .seconds(111))
        #expect(isSecondHeldAgainstIt)
    }

    @Test func `a connection that ends at once after the upload is held against it`() {
        var trial = SuspectTrial()
        for second in 0..<8 {
            trial.connected(now: .seconds(second))
            #expect(trial.wait(now: .seconds(second) + .milliseconds(20)) == .zero)
            trial.uploaded(now: .seconds(second) + .milliseconds(20))
            let isHeldAgainstIt = trial.connectionLost(now: .seconds(second) + .milliseconds(30))
            #expect(isHeldAgainstIt)
        }
    }

    @Test func `a connection that ends while the suspect waits isn't held against it`() {
        var trial = SuspectTrial()
        trial.connected(now: .zero)
        trial.uploaded(now: .zero)
        _ = trial.connectionLost(now: .seconds(30))
        trial.connected(now: .seconds(40))
        // Nothing of the partition was in flight: what else was is counted as ever.
        let isCounted = trial.connectionLost(now: .seconds(50))
        #expect(isCounted)
        trial.connected(now: .seconds(60))
        #expect(trial.wait(now: .seconds(60)) == .seconds(30))
    }

    @Test func `an answer ends the wait, and the wait has an end`() {
        var trial = SuspectTrial()
        trial.connected(now: .zero)
        trial.uploaded(now: .zero)
        _ = trial.connectionLost(now: .seconds(3600))
        trial.connected(now: .seconds(4000))
        #expect(trial.wait(now: .seconds(4000)) == SuspectTrial.longestWait)
        trial.uploaded(now: .seconds(4600))
        trial.answered()
        #expect(trial.wait(now: .seconds(4600)) == .zero)
    }
}

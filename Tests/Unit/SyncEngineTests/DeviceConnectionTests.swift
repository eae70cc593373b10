import SyncEngine
import Testing

struct DeviceConnectionTests {
    private func machine() -> DeviceConnection {
        DeviceConnection(backoff: Backoff(base: .seconds(1), limit: .seconds(8), seed: 1))
    }

    private func online() -> DeviceConnection {
        var machine = machine()
        _ = machine.goOnline()
        _ = machine.tokenObtained(expiry: .seconds(1000), now: .zero)
        _ = machine.opened(connection: 1, now: .zero)
        _ = machine.welcomed(connection: 1, now: .zero)
        return machine
    }

    @Test func `it gets a token, connects, says hello and resumes`() {
        var machine = machine()
        #expect(machine.goOnline() == [.fetchToken(fresh: false)])
        #expect(machine.tokenObtained(expiry: .seconds(1000), now: .zero) == [.open(connection: 1)])
        #expect(machine.opened(connection: 1, now: .zero) == [.sendHello])
        #expect(machine.welcomed(connection: 1, now: .zero) == [.resume])
        #expect(machine.phase == .online)
        #expect(machine.goOnline() == [])
    }

    @Test func `a lost connection is tried again, later each time, up to a limit`() {
        var machine = online()
        var now = Duration.seconds(1)
        #expect(machine.closed(connection: 1, now: now) == [.close(connection: 1)])
        for attempt in 2...12 {
            guard let deadline = machine.deadline else { return #expect(Bool(false)) }
            let step = min(Double(1 << (attempt - 2)), 8)
            #expect(deadline - now >= .seconds(step * 0.25) && deadline - now <= .seconds(step))
            now = deadline
            #expect(machine.tick(now: now) == [.fetchToken(fresh: false)])
            #expect(machine.tokenObtained(expiry: .seconds(1000), now: now) == [.open(connection: attempt)])
            #expect(machine.closed(connection: attempt, now: now) == [.close(connection: attempt)])
        }
    }

    @Test func `a connection that carries a suspect doesn't shorten the next wait`() {
        var machine = online()
        var now = Duration.seconds(1)
        var waits: [Duration] = []
        for number in 1...8 {
            _ = machine.closed(connection: number, now: now)
            guard let deadline = machine.deadline else { return #expect(Bool(false)) }
            waits.append(deadline - now)
            now = deadline
            _ = machine.tick(now: now)
            _ = machine.tokenObtained(expiry: .seconds(1000), now: now)
            _ = machine.opened(connection: number + 1, now: now)
            _ = machine.welcomed(connection: number + 1, isSuspicious: true, now: now)
        }
        #expect(waits.suffix(4).allSatisfy { $0 >= .seconds(2) }, "\(waits)")
    }

    /// On a slow link a large frame takes longer than the limit, and the ping waits behind it.
    @Test func `silence is borne for longer after each connection in a row that it ended`() {
        var machine = online()
        var now = Duration.zero
        func wait(_ machine: inout DeviceConnection) -> Duration {
            let start = now
            while machine.phase == .online, let deadline = machine.deadline {
                now = deadline
                _ = machine.tick(now: now)
            }
            return now - start
        }
        func reconnect(_ machine: inout DeviceConnection, _ number: Int) {
            if let deadline = machine.deadline { now = deadline }
            _ = machine.tick(now: now)
            _ = machine.tokenObtained(expiry: now + .seconds(100_000), now: now)
            _ = machine.opened(connection: number, now: now)
            _ = machine.welcomed(connection: number, now: now)
        }
        var waits: [Duration] = []
        for number in 2...7 {
            waits.append(wait(&machine))
            reconnect(&machine, number)
        }
        #expect(waits == [60, 120, 240, 480, 960, 960].map { .seconds($0) })
        // The frame has got through.
        now += .seconds(100)
        machine.heard(connection: 7, now: now)
        #expect(wait(&machine) == .seconds(60))
    }

    @Test func `what belongs to a connection that was given up is ignored`() {
        var machine = online()
        _ = machine.closed(connection: 1, now: .seconds(1))
        _ = machine.goOnline()
        _ = machine.tokenObtained(expiry: .seconds(1000), now: .seconds(2))
        #expect(machine.closed(connection: 1, now: .seconds(2)) == [])
        #expect(machine.welcomed(connection: 1, now: .seconds(2)) == [])
        #expect(machine.failed(connection: 1, remedy: .close, now: .seconds(2)) == [])
        #expect(machine.phase == .connecting)
    }

    @Test func `a token is renewed before it expires, without a reconnection`() {
        var machine = online()
        #expect(machine.tick(now: .seconds(10)) == [])
        machine.heard(connection: 1, now: .seconds(879))
        #expect(machine.deadline == .seconds(880))
        #expect(machine.tick(now: .seconds(880)) == [.fetchToken(fresh: true)])
        #expect(machine.tokenObtained(expiry: .seconds(2000), now: .seconds(881)) == [.sendToken])
        #expect(machine.phase == .online)
    }

    @Test func `a renewal that fails is tried again while the old token holds`() {
        var machine = online()
        machine.heard(connection: 1, now: .seconds(880))
        _ = machine.tick(now: .seconds(880))
        #expect(machine.tokenFailed(isFinal: false, now: .seconds(881)) == [])
        machine.heard(connection: 1, now: .seconds(906))
        #expect(machine.tick(now: .seconds(906)) == [.fetchToken(fresh: true)])
    }

    @Test func `a session that has ended signs the device out permanently`() {
        var machine = machine()
        _ = machine.goOnline()
        #expect(machine.tokenFailed(isFinal: true, now: .zero) == [.signOut])
        #expect(machine.phase == .signedOut)
        #expect(machine.deadline == nil)
    }

    @Test func `a refused token isn't used again`() {
        var machine = online()
        #expect(machine.failed(connection: 1, remedy: .reauthenticate, now: .seconds(1)) == [.close(connection: 1)])
        #expect(machine.tick(now: .seconds(60)) == [.fetchToken(fresh: true)])
    }

    @Test func `silence is answered with a ping, and longer silence with a new connection`() {
        var machine = online()
        #expect(machine.tick(now: .seconds(25)) == [.sendPing])
        #expect(machine.tick(now: .seconds(26)) == [])
        machine.heard(connection: 1, now: .seconds(27))
        #expect(machine.deadline == .seconds(52))
        #expect(machine.tick(now: .seconds(87)) == [.close(connection: 1)])
    }

    @Test func `a connection that never opens is given up`() {
        var machine = machine()
        _ = machine.goOnline()
        _ = machine.tokenObtained(expiry: .seconds(1000), now: .zero)
        #expect(machine.deadline == .seconds(20))
        #expect(machine.tick(now: .seconds(20)) == [.close(connection: 1)])
    }

    @Test func `an offline device doesn't reconnect`() {
        var machine = online()
        #expect(machine.goOffline() == [.close(connection: 1)])
        #expect(machine.deadline == nil)
        #expect(machine.closed(connection: 1, now: .seconds(1)) == [])
        #expect(machine.phase == .offline)
    }
}

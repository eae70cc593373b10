import DocumentModel
import SyncEngine
import Testing

struct ConnectionTests {
    typealias Refusal = ConnectionStateMachine.Refusal

    private let identity = ConnectionIdentity(app: "chat", user: "u1", device: "d1")
    private let partition = Partition(text: "s:a")
    private let expiry = Duration.seconds(100)

    private func opened(_ limits: ConnectionLimits = ConnectionLimits()) throws -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(limits: limits, now: .zero)
        try machine.open(identity, tokenExpiry: expiry, now: .seconds(1))
        return machine
    }

    @Test func `hello comes first, once, and in time`() throws {
        var machine = ConnectionStateMachine(limits: ConnectionLimits(), now: .zero)
        #expect(machine.deadline == .seconds(10))
        #expect(throws: Refusal.helloExpected) { try machine.subscribe(partition, now: .zero) }
        #expect(throws: Refusal.timedOut) { try machine.check(now: .seconds(10)) }
        try machine.open(identity, tokenExpiry: expiry, now: .seconds(1))
        #expect(machine.identity == identity)
        #expect(throws: Refusal.alreadyOpen) {
            try machine.open(identity, tokenExpiry: expiry, now: .seconds(1))
        }
    }

    @Test func `a token ends the connection, unless it is renewed for the same user`() throws {
        var machine = try opened()
        machine.heard(now: .seconds(99))
        #expect(throws: Refusal.userChanged) {
            try machine.renew(user: "u2", tokenExpiry: .seconds(200), now: .seconds(50))
        }
        #expect(throws: Refusal.tokenExpired) { try machine.check(now: .seconds(100)) }
        try machine.renew(user: "u1", tokenExpiry: .seconds(300), now: .seconds(50))
        try machine.check(now: .seconds(150))
        #expect(throws: Refusal.timedOut) { try machine.check(now: .seconds(190)) }
    }

    @Test func `subscriptions and uploads have limits`() throws {
        let now = Duration.seconds(2)
        var machine = try opened(ConnectionLimits(uploadWindow: 3, subscriptions: 1))
        #expect(throws: Refusal.notSubscribed) { try machine.upload(partition, count: 1, now: now) }
        try machine.subscribe(partition, now: now)
        #expect(throws: Refusal.tooManySubscriptions) { try machine.subscribe(Partition(text: "s:b"), now: now) }
        try machine.subscribe(partition, now: now)  // the one that is open, anew
        try machine.upload(partition, count: 2, now: now)
        #expect(throws: Refusal.uploadWindowExceeded) { try machine.upload(partition, count: 2, now: now) }
        machine.answered(partition)
        try machine.upload(partition, count: 2, now: now)
    }

    @Test func `no more changesets of a partition are in flight than the server can distinguish`() throws {
        let now = Duration.seconds(2), other = Partition(text: "s:b")
        var machine = try opened(ConnectionLimits(uploadWindow: 64))
        try machine.subscribe(partition, now: now)
        try machine.subscribe(other, now: now)
        try machine.upload(partition, count: DevicePartition.uploadWindow, now: now)
        #expect(throws: Refusal.uploadWindowExceeded) { try machine.upload(partition, count: 1, now: now) }
        try machine.upload(other, count: DevicePartition.uploadWindow, now: now)
        machine.answered(other)
        #expect(throws: Refusal.uploadWindowExceeded) { try machine.upload(partition, count: 1, now: now) }
        machine.answered(partition)
        try machine.upload(partition, count: 1, now: now)
    }
}

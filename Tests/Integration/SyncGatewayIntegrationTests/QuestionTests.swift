import DocumentModel
import EventTopics
import SyncProtocol
import TestSupport
import Testing

/// Questions stay unanswered here.
@Suite struct QuestionTests {
    /// Opens arbitrary partitions, and returns when this many of them were refused.
    private func flood(_ device: Device, _ fixture: GatewayFixture, refusals: Int) async throws {
        var invented: [Partition] = []
        for _ in 0..<refusals + 20 {
            let partition = fixture.partition()
            invented.append(partition)
            try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        }
        var refused = 0
        while refused < refusals {
            // By now others have waited long enough without an answer.
            guard case .error(let report) = try await device.next() else { throw Device.Unexpected(what: "no error") }
            guard report.code == .tooManyQuestions else { continue }
            refused += 1
            #expect(report.partition.map(invented.contains) ?? false && report.action == .retry)
            #expect(report.retryAfter ?? .zero >= .seconds(1))
        }
    }

    @Test func `a user's questions about partitions are bounded, with any number of devices`() async throws {
        let limit = 8
        let fixture = try await GatewayFixture(settings: ["questions.user": "\(limit)", "questions.device": "5"])
        let asked = try await fixture.received(PermissionRequest.self)
        let mallory = ObjectId().hexString, mia = ObjectId().hexString
        let start = ContinuousClock.now
        let first = try await fixture.device(mallory), second = try await fixture.device(mallory)
        try await flood(first, fixture, refusals: 20)
        try await flood(second, fixture, refusals: 20)
        let partitions = Set(asked.withLock { $0.filter { $0.user == mallory }.map(\.partition.text) })
        let renewed = (ContinuousClock.now - start) / .seconds(60) * Double(limit)
        #expect(Double(partitions.count) <= Double(limit) + renewed)
        // Granted partitions need no question, and other users have their own budgets.
        let open = fixture.partition()
        try await fixture.grant(.read, to: mallory, in: open)
        try await first.send(.subscribe(partition: open, checkpoint: Revision(epoch: 0, number: 0)))
        var isOpen = false
        while !isOpen { if case .subscribed = try await first.next() { isOpen = true } }
        let other = try await fixture.device(mia)
        let wanted = fixture.partition()
        try await other.send(.subscribe(partition: wanted, checkpoint: Revision(epoch: 0, number: 0)))
        try await eventually("the question of another user is asked") {
            asked.withLock { $0.contains { $0.user == mia && $0.partition == wanted } }
        }
        for device in [first, second, other] { device.close() }
        fixture.stop()
    }

    @Test func `users who ask much don't keep another one from asking`() async throws {
        let fixture = try await GatewayFixture(settings: ["questions.app": "4"])
        let asked = try await fixture.received(PermissionRequest.self)
        let mia = ObjectId().hexString
        let device = try await fixture.device(mia)
        var crowd: [Device] = []
        for _ in 0..<6 { crowd.append(try await fixture.device(ObjectId().hexString)) }
        // Answers each question a tenth of a second after it came, so that the crowd's take ten seconds.
        let answers = Task {
            var answered = 0
            while true {
                try await Task.sleep(for: .milliseconds(100))  // permissions takes that long
                let questions = asked.withLock { Array($0.dropFirst(answered)) }
                for question in questions { try await fixture.deny(question.user, question.partition) }
                answered += questions.count
            }
        }
        for other in crowd {
            for _ in 0..<60 {
                let partition = fixture.partition()
                try await other.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
            }
        }
        try await eventually("the crowd asks", within: patience) { asked.withLock { !$0.isEmpty } }
        try await device.send(.subscribe(partition: fixture.partition(), checkpoint: Revision(epoch: 0, number: 0)))
        let before = try await eventually("the question of another user is asked", within: .seconds(60)) {
            asked.withLock { questions in questions.firstIndex { $0.user == mia } }
        }
        #expect(before < 180, "\(before) of 360 questions were asked before")
        answers.cancel()
        await #expect(throws: CancellationError.self, "each was answered") { try await answers.value }
        for device in crowd + [device] { device.close() }
        fixture.stop()
    }

    @Test func `a refused device gets the partition once the right is there and it asks again`() async throws {
        let fixture = try await GatewayFixture.shared()
        let user = ObjectId().hexString, partition = fixture.partition()
        let asked = try await fixture.received(PermissionRequest.self)
        let device = try await fixture.device(user)
        try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        try await eventually("the question is there") { asked.withLock { $0.contains { $0.user == user } } }
        // As permissions denies: by the topic alone.
        try await fixture.deny(user, partition)
        guard case .revoked(partition, _) = try await device.next() else {
            throw Device.Unexpected(what: "not refused")
        }
        try await fixture.grant(.write, to: user, in: partition)
        try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        guard case .subscribed(let subscribed) = try await device.next() else {
            throw Device.Unexpected(what: "not subscribed")
        }
        #expect(subscribed.partition == partition && subscribed.access == .write)
        // A late denial revokes nothing.
        try await fixture.deny(user, partition)
        try await fixture.grant(.read, to: user, in: partition, version: 2)
        guard case .download = try await device.next(), case .access(partition, .read) = try await device.next() else {
            throw Device.Unexpected(what: "no download, or no access")
        }
        device.close()
    }
}

import DocumentModel
import DocumentStore
import EventLoop
import Lifecycle
import Logging
import SyncEngine
import Testing

struct GroupCommitterTests {
    @Test func `a small upload doesn't wait for the large ones before it, and none passes one of its own device`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let large = Partition.conversation("large"), small = Partition.conversation("small")
            for partition in [large, small] { try await fixture.grant(in: partition) }
            let committer = GroupCommitter(store: fixture.store, limits: .init(lanes: 1))
            let answered = Locked<[String]>([])
            @Sendable func commit(_ id: String, _ version: Int64, device: String, in partition: Partition, bytes: Int)
                async throws
            {
                var upload = Upload.of(version, [.insert(id, in: partition)], device: device, in: partition)
                upload.bytes = bytes
                let result = try await committer.commit(upload, app: StoreFixture.app)
                #expect(result.acknowledgement != nil, "\(id)")
                answered.withLock { $0.append(id) }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Queued one after the other, before the committer runs.
                for number in 1...6 {
                    group.addTask {
                        try await commit("l\(number)", 1, device: "d\(number)", in: large, bytes: 16 << 20)
                    }
                    try await Task.sleep(for: .milliseconds(20))
                }
                group.addTask { try await commit("l7", 2, device: "d6", in: large, bytes: 100) }
                try await Task.sleep(for: .milliseconds(20))
                group.addTask { try await commit("s", 1, device: "phone", in: small, bytes: 300) }
                try await Task.sleep(for: .milliseconds(20))
                let run = Task { try await committer.run() }
                try await group.waitForAll()
                run.cancel()
            }
            let order = answered.withLock { $0 }
            #expect(order.firstIndex(of: "s").map { $0 <= 1 } == true, "\(order)")
            #expect(order.filter { $0 != "s" } == (1...7).map { "l\($0)" }, "\(order)")
        }
    }

    @Test func `large changesets are committed one at a time, and others in their lane meanwhile`() async throws {
        try await StoreFixture.with { fixture in
            let large = (1...4).map { Partition.conversation("large\($0)") }, quiet = Partition.conversation("quiet")
            for partition in large { try await fixture.grant(to: "eve", in: partition) }
            try await fixture.grant(in: quiet)
            let committer = GroupCommitter(store: fixture.store, limits: .init(lanes: 1))
            let run = Task { try await committer.run() }
            defer { run.cancel() }
            let answered = Locked<[String]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, partition) in large.enumerated() {
                    let inserts = (0..<20_000).map { Operation.insert("\(number)-\($0)", in: partition) }
                    let after = [Operation.insert("\(number)-after", in: partition)]
                    // A small one of the same device stays behind the large one.
                    for (version, operations, name) in [(1, inserts, "\(number)"), (2, after, "\(number)s")] {
                        let upload = Upload.of(Int64(version), operations, user: "eve", device: "eve", in: partition)
                        // Immediate, so that they are queued in this order.
                        group.addImmediateTask {
                            let result = try await committer.commit(upload, app: StoreFixture.app)
                            #expect(result.acknowledgement != nil, "\(name): \(result)")
                            answered.withLock { $0.append(name) }
                        }
                    }
                }
                // How many small ones began between the answers to large ones. One that waited for a large one would end after
                // its answer, so that there would be one only, and the large one's successor may let a second one begin.
                var meanwhile = [0: 0]
                while true {
                    let before = answered.withLock { $0.count }
                    if before == 8 { break }
                    let version = Int64(meanwhile.values.reduce(1, +))
                    _ = try await committer.commit(
                        .of(version, [.insert("n\(version)", in: quiet)], in: quiet), app: StoreFixture.app)
                    meanwhile[before, default: 0] += 1
                }
                try await group.waitForAll()
                // The large ones take most of the time; their successors are answered soon after them.
                #expect(meanwhile.values.filter { $0 >= 3 }.count >= 4, "\(meanwhile)")
                for number in 0..<4 {
                    let order = answered.withLock { $0 }
                    let first = try #require(order.firstIndex(of: "\(number)"))
                    let second = try #require(order.firstIndex(of: "\(number)s"))
                    #expect(first < second, "\(order)")
                }
            }
        }
    }

    @Test func `large changesets that wait when the committer stops are committed`() async throws {
        try await StoreFixture.with { fixture in
            let partitions = (1...3).map { Partition.conversation("large\($0)") }
            for partition in partitions { try await fixture.grant(in: partition) }
            let committer = GroupCommitter(store: fixture.store, limits: .init(largeOperations: 100))
            let group = ServiceGroup(services: [committer], logger: Logger(label: "test"))
            let run = Task { try await group.run() }
            // It runs when it has answered.
            _ = try await committer.commit(
                .of(1, [.insert("first", in: partitions[0])], device: "other", in: partitions[0]),
                app: StoreFixture.app)
            let uploads = partitions.enumerated().map { number, partition in
                Upload.of(1, (0..<5_000).map { .insert("\(number)-\($0)", in: partition) }, in: partition)
            }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for upload in uploads {
                    // Immediate, so that all are queued before the committer stops.
                    tasks.addImmediateTask {
                        let result = try await committer.commit(upload, app: StoreFixture.app)
                        #expect(result.acknowledgement != nil, "\(result)")
                    }
                }
                group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            try await run.value
        }
    }

    @Test func `a user whose changesets take long to decide waits, and others don't`() async throws {
        try await StoreFixture.with { fixture in
            let crowded = Partition.conversation("crowded"), quiet = Partition.conversation("quiet")
            try await fixture.grant(to: "eve", in: crowded)
            try await fixture.grant(in: quiet)
            let committer = GroupCommitter(store: fixture.store, limits: .init(lanes: 1))
            let run = Task { try await committer.run() }
            let elements = Value.array((0..<4_000).map { ["n": .int32($0), "v": 0] })
            _ = try await committer.commit(
                .of(1, [.insert("slow", ["list": elements], in: crowded)], user: "eve", device: "seed", in: crowded),
                app: StoreFixture.app)
            let slow = (0..<100).map { number in
                Operation(
                    collection: "ChatMessage", id: "slow",
                    kind: .update(
                        operators: ["$set": ["list.$[x].v": .int32(number)]], arrayFilters: [["x.n": ["$lt": 0]]]))
            }
            let answered = Locked(0)
            let (answers, answer) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...100 {
                    group.addTask {
                        // Some are refused for their user's debt.
                        _ = try? await committer.commit(
                            .of(1, slow, user: "eve", device: "d\(number)", in: crowded), app: StoreFixture.app)
                        answered.withLock { $0 += 1 }
                        answer.yield()
                    }
                }
                _ = await answers.first { true }  // the attack is on its way
                var longest = Duration.zero
                var during = 0
                for version in 1...Int64(20) {
                    let start = ContinuousClock.now
                    _ = try await committer.commit(
                        .of(version, [.insert("n\(version)", in: quiet)], in: quiet), app: StoreFixture.app)
                    longest = max(longest, ContinuousClock.now - start)
                    if answered.withLock({ $0 }) == 100 { break }
                    during += 1
                }
                #expect(longest < .seconds(5), "\(longest)")
                #expect(during >= 3, "the attack was over before")
                try await group.waitForAll()
            }
            run.cancel()
        }
    }

    @Test func `a user whose short changesets write many bytes waits, and others don't`() async throws {
        try await StoreFixture.with { fixture in
            let crowded = Partition.conversation("crowded"), quiet = Partition.conversation("quiet")
            try await fixture.grant(to: "eve", in: crowded)
            try await fixture.grant(in: quiet)
            let committer = GroupCommitter(store: fixture.store, limits: .init(lanes: 1))
            let run = Task { try await committer.run() }
            let text = Value.string(String(repeating: "x", count: 2_000_000))
            let seeded = try await committer.commit(
                .of(1, [.insert("large", ["text": text], in: crowded)], user: "eve", device: "seed", in: crowded),
                app: StoreFixture.app)
            #expect(seeded.acknowledgement != nil, "\(seeded)")
            let small = [Operation.update("large", ["$inc": ["n": 1]])]
            let committed = Locked(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...60 {
                    group.addTask {
                        // Those that wait too long are refused.
                        let result = try? await committer.commit(
                            .of(1, small, user: "eve", device: "d\(number)", in: crowded), app: StoreFixture.app)
                        if result?.acknowledgement?.lost.isEmpty == true { committed.withLock { $0 += 1 } }
                    }
                }
                let end = ContinuousClock.now + .seconds(6)
                var longest = Duration.zero
                var version: Int64 = 0
                while ContinuousClock.now < end {
                    version += 1
                    let start = ContinuousClock.now
                    _ = try await committer.commit(
                        .of(version, [.insert("n\(version)", in: quiet)], in: quiet), app: StoreFixture.app)
                    longest = max(longest, ContinuousClock.now - start)
                }
                // Each of these changesets writes 2 MB, which costs 400 ms.
                #expect(committed.withLock { $0 } <= 14)
                #expect(version >= 20)
                #expect(longest < .seconds(3), "\(longest)")
                group.cancelAll()
                run.cancel()
            }
        }
    }
}

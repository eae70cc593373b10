import AppRegistry
import DocumentModel
import EmbeddedKafka
import EventLoop
import EventStream
import EventTopics
import Kafka
import LocalEngines
import Logging
import Presence
import Redis
import SyncProtocol
import TestSupport
import Testing

@testable import SyncGateway

@Suite struct PresenceTests {
    @Test func `a watcher is notified when the user comes, reports something and goes`() async throws {
        let fixture = try await GatewayFixture.shared()
        let bob = ObjectId().hexString
        let ann = try await fixture.watcher(of: bob)
        let device = try await fixture.device(bob)
        var heard = try await ann.presence()
        #expect(heard.user == bob && heard.state == "online" && heard.data == nil)
        // The default state is reported, too: the device may have said something else in a former session.
        try await device.send(.presence(.init(state: "online")))
        #expect(try await ann.presence().state == "online")
        try await device.send(.presence(.init(state: "away", data: ["until": "five"])))
        heard = try await ann.presence("away")
        #expect(heard.user == bob && heard.data == ["until": "five"])
        device.close()
        #expect(try await ann.presence("offline").user == bob)
        ann.close()
    }

    /// As when two gateways publish them at the same time.
    @Test func `an older flip that comes later isn't told`() async throws {
        let fixture = try await GatewayFixture.shared()
        let bob = ObjectId().hexString, cid = ObjectId().hexString
        let ann = try await fixture.watcher(of: bob)
        func event(_ state: PresenceEvent.State, _ version: Int64, word: String? = nil) -> PresenceEvent {
            PresenceEvent(
                app: GatewayFixture.app, user: bob, device: "phone", state: state, isUserOnline: state != .offline,
                lastSeen: version, version: version, word: word)
        }
        try await fixture.events.send(event(.online, 2))
        #expect(try await ann.presence().state == "online")
        // What was heard of a user who is watched on stays known.
        try await ann.watch([bob, cid])
        try await fixture.events.send(event(.offline, 1))
        try await fixture.events.send(event(.said, 0, word: "sentinel"))
        #expect(try await ann.presence().state == "sentinel")
        try await fixture.events.send(event(.offline, 3))
        #expect(try await ann.presence().state == "offline")
        ann.close()
    }

    @Test func `a watcher of other users hears no more of the previous ones`() async throws {
        let fixture = try await GatewayFixture.shared()
        let bob = ObjectId().hexString, cid = ObjectId().hexString, eve = ObjectId().hexString
        let ann = try await fixture.watcher(of: bob), other = try await fixture.watcher(of: bob)
        try await fixture.share(["ann", eve])
        try await ann.watch([cid, eve, eve])
        let device = try await fixture.device(bob)
        // By now both would have received Bob's changes.
        #expect(try await other.presence().user == bob)
        let last = try await fixture.device(eve)
        #expect(try await ann.presence().user == eve)
        for device in [ann, other, device, last] { device.close() }
    }

    @Test func `presence isn't sent to strangers, nor to users who no longer share a partition`() async throws {
        let fixture = try await GatewayFixture.shared()
        let dan = ObjectId().hexString, bob = ObjectId().hexString, cid = ObjectId().hexString
        let eve = ObjectId().hexString, zoe = ObjectId().hexString
        // The helper's Ann shares a partition with each of them: what she has received, Dan would have received before the next.
        let witness = try await fixture.watcher(of: bob)
        try await fixture.share(["ann", eve])
        try await witness.watch([bob, eve])
        let shared = try await fixture.share([dan, eve])
        try await fixture.share([dan, zoe])
        // A partition that Dan may not read, and one where his answer comes before everybody's.
        let closed = try await fixture.share([bob])
        try await fixture.grant(.none, to: dan, in: closed)
        let lapsed = try await fixture.share([bob])
        try await fixture.grant(.read, to: dan, in: lapsed, lifetime: .zero)
        // One that Bob's grant has ended for, since he didn't use it.
        let ended = try await fixture.share([dan, bob])
        try await fixture.postgres.execute(
            "update partita.grants set expires_at = now() - interval '2 hours' where partition = $1 and user_id = $2",
            [.text(ended.text), .text(bob)])
        let open = try await fixture.share([cid])
        try await fixture.grant(.read, to: "*", in: open)
        try await fixture.grant(.none, to: dan, in: open)
        let device = try await fixture.device(dan)
        try await device.watch([bob, cid, eve, zoe])
        let first = try await fixture.device(bob), second = try await fixture.device(cid)
        #expect(try await witness.presence().user == bob)
        let third = try await fixture.device(eve)
        #expect(try await witness.presence().user == eve)
        #expect(try await device.presence().user == eve)
        // Dan has lost the partition; he hears of others, but not of Eve.
        try await fixture.grant(.none, to: dan, in: shared, version: 2, isFence: true)
        try await third.send(.presence(.init(state: "away")))
        #expect(try await witness.presence().state == "away")
        let fourth = try await fixture.device(zoe)
        #expect(try await device.presence().user == zoe)
        // Partitions that are shared later count, and one that is granted to all users is shared by all.
        try await fixture.grant(.read, to: dan, in: open, version: 2)
        try await second.send(.presence(.init(state: "busy")))
        let heard = try await device.presence()
        #expect(heard.user == cid && heard.state == "busy")
        for device in [witness, device, first, second, third, fourth] { device.close() }
    }

    @Test func `an app may let all users watch each other`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "lobby"
        try await fixture.deploy([
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "\(app)", "name": "Lobby", "location": "DE-FF", "deployment_model": "LOCAL"}
            """,
            "partita.json": #"{"presence": {"watch": "everybody"}}"#,
        ])
        let device = try await eventually("the app is known", within: .seconds(30)) { () -> Device? in
            do { return try await fixture.device("dan", app: app) } catch is Device.Unexpected { return nil }
        }
        try await device.watch(["bob"])
        let other = try await fixture.device("bob", app: app)
        #expect(try await device.presence().user == "bob")
        device.close()
        other.close()
    }

    @Test func `what a device says is told until Kafka has it, again after a flip, and in a new session`() async throws
    {
        let fixture = try await GatewayFixture.shared()
        let redis = RedisClient(
            configuration: try RedisConfiguration(url: try await TestEngines.shared().redisURL),
            on: GatewayFixture.loops)
        let prefix = "\(ObjectId().hexString):", logger = Logger(label: "presence")
        let broker = try EmbeddedBroker(port: UInt16(try LocalPort.free()))
        try broker.createTopic(PresenceEvent.topic.fullName(pool: "words"), partitions: 4)
        let kafka = KafkaConfiguration(
            bootstrapServers: broker.bootstrapServers, embedded: true, properties: ["message.timeout.ms": "500"])
        let producer = EventProducer(
            KafkaProducer(configuration: kafka, loop: GatewayFixture.loops.next()), pool: "words")
        let keeper = PresenceKeeper(
            leases: PresenceLeases(redis: redis, ttl: .seconds(60), prefix: prefix),
            rights: WatchRights(
                client: fixture.postgres,
                apps: AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger)),
            producer: producer, interval: .milliseconds(50), clock: .system, logger: logger)
        let heard = Locked<[PresenceEvent]>([])
        let tail = EventTail<PresenceEvent>(
            pool: "words",
            kafka: KafkaClient(
                configuration: KafkaConfiguration(bootstrapServers: broker.bootstrapServers, embedded: true))
        ) { events in
            for event in events {
                let presence = try event.decoded().payload
                heard.withLock { $0.append(presence) }
            }
        }
        /// What was heard of the user after the last flip, which is an online one.
        @Sendable func words() -> [String] {
            heard.withLock { heard in
                heard.suffix(from: heard.lastIndex { $0.state != .said } ?? 0).compactMap(\.word)
            }
        }
        let phone = PresenceMember(app: "words", user: "ann", device: "phone")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await redis.run() }
            group.addTask { try await tail.run() }
            try await tail.waitUntilPositioned()
            group.addTask { try await keeper.run() }
            keeper.join(phone)
            try await eventually("she is online", within: .seconds(30)) {
                heard.withLock { $0.contains { $0.state == .online } }
            }

            try broker.setDown(true)
            keeper.say(.init(state: "away"), of: phone, session: "first")
            try await Task.sleep(for: .seconds(1))  // longer than the producer tries
            try broker.setDown(false)
            try await eventually("she is away", within: .seconds(30)) { words().last == "away" }

            // Her lease is lost, or she was silent for its time.
            let flips = heard.withLock { $0.count { $0.state == .online } }
            try await redis.command(["DEL", "\(prefix)presence:words/ann/phone"])
            try await eventually("she comes again, and is still away", within: .seconds(30)) {
                heard.withLock { $0.count { $0.state == .online } } > flips && words().last == "away"
            }

            // As after a restart of the gateway, during which her lease stays.
            keeper.forget(session: "first", of: phone)
            keeper.say(.online, of: phone, session: "second")
            try await eventually("she is back", within: .seconds(30)) { words().last == "online" }
            group.cancelAll()
        }
        broker.close()
    }

    @Test func `a device that leaves while leases are renewed has none left`() async throws {
        let fixture = try await GatewayFixture.shared()
        let redis = RedisClient(
            configuration: try RedisConfiguration(url: try await TestEngines.shared().redisURL),
            on: GatewayFixture.loops)
        let leases = PresenceLeases(redis: redis, ttl: .seconds(60), prefix: "\(ObjectId().hexString):")
        let logger = Logger(label: "presence")
        let apps = AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger)
        let keeper = PresenceKeeper(
            leases: leases, rights: WatchRights(client: fixture.postgres, apps: apps), producer: fixture.events,
            interval: .milliseconds(1), clock: .system, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await redis.run() }
            group.addTask { try await keeper.run() }
            for round in 0..<30 {
                let members = (0..<20).map { PresenceMember(app: "churn", user: "u\(round)-\($0)", device: "phone") }
                for member in members { keeper.join(member) }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
                for member in members { keeper.leave(member, keepsLease: false) }
                try await eventually("all of round \(round) are gone", within: .seconds(10)) {
                    try await leases.absent(members).count == members.count
                }
                // A renewal that was in flight arrives in between.
                try await Task.sleep(for: .milliseconds(10))
                try await eventually("all of round \(round) stay away", within: .seconds(10)) {
                    try await leases.absent(members).count == members.count
                }
            }
            group.cancelAll()
        }
    }

    @Test func `connected devices keep their leases while Kafka hangs`() async throws {
        let fixture = try await GatewayFixture.shared()
        let redis = RedisClient(
            configuration: try RedisConfiguration(url: try await TestEngines.shared().redisURL),
            on: GatewayFixture.loops)
        let lease = Duration.seconds(1)
        let leases = PresenceLeases(redis: redis, ttl: lease, prefix: "\(ObjectId().hexString):")
        let logger = Logger(label: "presence")
        // Nothing answers there.
        let producer = EventProducer(
            KafkaProducer(
                configuration: KafkaConfiguration(
                    bootstrapServers: "127.0.0.1:1", properties: ["message.timeout.ms": "5000"]),
                loop: GatewayFixture.loops.next()),
            pool: "hanging")
        let keeper = PresenceKeeper(
            leases: leases,
            rights: WatchRights(
                client: fixture.postgres,
                apps: AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger)),
            producer: producer, interval: lease / 3, clock: .system, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await redis.run() }
            group.addTask { try await keeper.run() }
            let member = PresenceMember(app: "hang", user: "ann", device: "phone")
            keeper.join(member)
            try await eventually("she has a lease", within: .seconds(10)) {
                try await leases.absent([member]).isEmpty
            }
            try await Task.sleep(for: lease * 3)  // leases that nobody renews have ended by then
            #expect(try await leases.claimExpired(limit: 10, claimTime: .seconds(1)).flips.isEmpty)
            group.cancelAll()
        }
    }

    /// The device goes from one gateway to the other, or loses its connection for a moment.
    @Test func `a device that comes back at once, here or elsewhere, isn't told as gone`() async throws {
        let fixture = try await GatewayFixture.shared()
        let redis = RedisClient(
            configuration: try RedisConfiguration(url: try await TestEngines.shared().redisURL),
            on: GatewayFixture.loops)
        let prefix = "\(ObjectId().hexString):", logger = Logger(label: "presence")
        let apps = AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger)
        let leases = (0..<2).map { _ in PresenceLeases(redis: redis, ttl: .seconds(60), prefix: prefix) }
        let keepers = leases.map {
            PresenceKeeper(
                leases: $0, rights: WatchRights(client: fixture.postgres, apps: apps), producer: fixture.events,
                interval: .seconds(20), clock: .system, logger: logger)
        }
        let phone = PresenceMember(app: "hop", user: "ann", device: "phone")
        let tablet = PresenceMember(app: "hop", user: "ann", device: "tablet")
        /// Grows with each flip of the user's devices.
        @Sendable func version() async throws -> String? {
            try await redis.command(["GET", "\(prefix)presence:version:hop/ann"]).string
        }
        /// The gateway that has the phone's lease.
        @Sendable func holder() async throws -> Substring? {
            try await redis.command(["GET", "\(prefix)presence:hop/ann/phone"]).string?.split(separator: "@").last
        }
        // Nothing shows that a keeper has let a device that came back be.
        let beyondPause = PresenceKeeper.pause * 2
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await redis.run() }
            for keeper in keepers { group.addTask { try await keeper.run() } }
            keepers[0].join(phone)
            try await eventually("it has a lease") { try await version() != nil }
            let first = try await version()
            keepers[0].leave(phone, keepsLease: false)
            keepers[0].join(phone)
            try await Task.sleep(for: beyondPause)
            #expect(try await version() == first)

            let former = try await holder()
            keepers[1].join(phone)
            try await eventually("the other gateway has the lease") { try await holder() != former }
            // The former one renews, since it hasn't noticed that the device is gone.
            #expect(try await leases[0].refresh([phone]).isEmpty)
            keepers[0].leave(phone, keepsLease: false)
            try await Task.sleep(for: beyondPause)
            #expect(try await version() == first)
            #expect(try await leases[0].absent([phone]).isEmpty)

            // The other device's lease is there before the first one's is removed.
            keepers[1].leave(phone, keepsLease: false)
            keepers[0].join(tablet)
            try await eventually("the phone is told as gone") {
                try await redis.command(["SISMEMBER", "\(prefix)presence:devices:hop/ann", "phone"]).int == 0
            }
            #expect(try await leases[0].absent([phone]).isEmpty)
            keepers[0].leave(tablet, keepsLease: false)
            try await eventually("the user is gone") { try await !leases[0].absent([phone]).isEmpty }
            group.cancelAll()
        }
    }
}

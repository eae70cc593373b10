import DocumentModel
import RealmClientModel
import RealmSync
import SyncEngine

/// Realm clients, gateways, a database, others who write documents, and everything that can happen between them, in an order that numbers
/// decide. Sessions, merges, plans and what gateways remember are the code that ships.
public struct RealmSimulation: Sendable {
    public enum Event: CaseIterable, Sendable {
        case cut, lostRace, uploadedAgain, serverWrote, together, snapshot, trimmed, begun, refused, revoked, suspended
        case gatewayLost, reset, restored
        /// An object was taken for new that there is.
        case tookForNew
        case deployed
    }

    var database: SimulatedHistory
    var gateways: [SimulatedRealmGateway]
    /// The version of the app that was deployed last.
    var app: SimulatedApp
    var clients: [SimulatedRealmClient]
    let scenario: RealmScenario
    var generator = SeededGenerator(seed: 0)
    var time: Int64 = 350_000_000_000
    /// What was added to the counter and wasn't refused.
    var added: Int64 = 0
    let edits = RandomEdits(visits: "visits", boxes: 0, count: 3)
    var connections = 0
    var backup: SimulatedHistory
    var isSettling = false
    /// How often the interesting cases happened.
    public internal(set) var events: [Event: Int] = [:]
    /// What happened that never may.
    public internal(set) var violations: [String] = []
    /// What happened, in words, if it is written down.
    public internal(set) var trace: [String] = []
    let isTraced: Bool

    /// The classes of the boxes and of the counter.
    private static let schema = ObjectSchema.reading([
        CollectionClass(
            collection: "Box",
            schema: [
                "title": "Box", "required": ["_id"],
                "properties": [
                    "_id": ["bsonType": "int"], "_partition": ["bsonType": "string"],
                    "li": ["bsonType": "array", "items": ["bsonType": "int"]],
                    "ls": ["bsonType": "array", "items": ["bsonType": ["string", "null"]]],
                    "si": ["bsonType": "array", "uniqueItems": true, "items": ["bsonType": "long"]],
                    "di": ["bsonType": "object", "additionalProperties": ["bsonType": "int"]],
                    "m": ["bsonType": "mixed"], "t": ["bsonType": "string"],
                ],
            ], relationships: [:]),
        CollectionClass(
            collection: "Person",
            schema: [
                "title": "Person", "required": ["_id", "visits"],
                "properties": [
                    "_id": ["bsonType": "string"], "_partition": ["bsonType": "string"],
                    "visits": ["bsonType": "long"],
                ],
            ], relationships: [:]),
    ]).schema

    init(_ scenario: RealmScenario, isTraced: Bool) {
        self.scenario = scenario
        self.isTraced = isTraced
        app = SimulatedApp(Self.schema)
        database = SimulatedHistory(app)
        gateways = [SimulatedRealmGateway(app), SimulatedRealmGateway(app)]
        clients = (0..<scenario.clients).map { SimulatedRealmClient(user: "user-\($0 % 2)") }
        backup = database
        for client in clients { database.mayWrite[client.user] = true }
        database.write(edits.visits, database.object(edits.visits, ["visits": .int64(0)]))
        backup = database
    }

    // MARK: Chance

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func pick<T>(_ values: [T]) -> T? { values.isEmpty ? nil : values[number(0..<values.count)] }

    mutating func note(_ event: Event) { events[event, default: 0] += 1 }

    mutating func fail(_ what: String) { violations.append(what) }

    // MARK: Steps

    mutating func step(_ seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        time += Int64(number(0..<500))
        let client = number(0..<clients.count), gateway = number(0..<gateways.count)
        switch number(0..<40) {
        case 0..<6: change(client)
        case 6..<9: sendUploads(client)
        case 9: sendMark(client)
        case 10..<16: _ = clients.indices.contains { deliver(toGatewayOf: ($0 + client) % clients.count) }
        case 16..<22: _ = clients.indices.contains { deliver(toClient: ($0 + client) % clients.count) }
        case 22..<30: advanceAny(from: gateway)
        case 30..<34: if !integrate(gateway) { integrate(1 - gateway) }
        case 34: _ = deliverHead(gateway)
        case 35: _ = deliverGrant(gateway)
        case 36, 37: for client in clients.indices { connect(client) }
        default: if let mishap = pick(scenario.mishaps) { perform(mishap, client, gateway) }
        }
        sendHeads()
    }

    /// Does a part of some session's work.
    private mutating func advanceAny(from gateway: Int) {
        let start = number(0..<8)
        for gateway in [gateway, 1 - gateway] {
            let numbers = gateways[gateway].numbers
            for place in numbers.indices
            where advance(numbers[(place + start) % numbers.count], of: gateway) { return }
        }
    }

    /// What has changed is told to all gateways.
    mutating func sendHeads() {
        for place in gateways.indices where gateways[place].published != database.head {
            gateways[place].heads.append(database.head)
            gateways[place].published = database.head
        }
    }

    // MARK: The end

    /// Everything arrives, and all clients have everything.
    mutating func settle() {
        if isTraced { trace.append("everything arrives") }
        if scenario.mishaps.contains(.slowReaders) { outrun(0) }
        isSettling = true
        generator = SeededGenerator(seed: 1)
        for client in clients { permit(client.user, read: true, write: true) }
        for gateway in gateways.indices where !gateways[gateway].leaseIsValid { suspend(gateway) }
        if scenario.mishaps.contains(.redeployments) {
            deploy(app.complete)
            for gateway in gateways.indices { hear(of: app, gateway) }
        }
        rest()
        check()
        for client in clients.indices { sendMark(client) }
        rest()
        check()
        for (place, client) in clients.enumerated() where client.answered != client.request {
            fail("client \(place) has no answer to its mark")
        }
    }

    /// Documents change again and again while a client reads nothing.
    private mutating func outrun(_ client: Int) {
        clients[client].isSlow = true
        for _ in 0..<8 {
            perform(.serverWrites, client, 0)
            sendHeads()
            for gateway in gateways.indices {
                while deliverHead(gateway) {}
                for session in gateways[gateway].numbers { while advance(session, of: gateway) {} }
            }
        }
    }

    private mutating func rest() {
        for _ in 0..<3000 where violations.isEmpty {
            var isBusy = false
            sendHeads()
            for client in clients.indices {
                if clients[client].connection == nil {
                    connect(client)
                    sendUploads(client)
                    isBusy = true
                } else if clients[client].model.hasUnsent {
                    sendUploads(client)
                }
                isBusy = deliver(toGatewayOf: client) || isBusy
                isBusy = deliver(toClient: client) || isBusy
            }
            for gateway in gateways.indices {
                while deliverGrant(gateway) || deliverHead(gateway) { isBusy = true }
                for session in gateways[gateway].numbers { isBusy = advance(session, of: gateway) || isBusy }
                isBusy = integrate(gateway) || isBusy
            }
            if !isBusy { return }
        }
        if violations.isEmpty { fail("it doesn't come to rest") }
    }

    private mutating func check() {
        let first = clients[0].model
        for (place, client) in clients.enumerated() {
            if !client.model.pending.isEmpty {
                fail("client \(place) has \(client.model.pending.count) unacknowledged")
            }
            if !client.model.objects.isSame(as: first.objects) {
                fail("clients differ: \(client.model.objects.objects), \(first.objects.objects)")
            }
        }
        if !PartitionObjects(schema: database.schema, objects: database.documents).isSame(as: first.objects) {
            fail("the documents differ: \(database.documents), \(first.objects.objects)")
        }
        if !PartitionObjects(schema: database.schema, objects: database.objects).isSame(as: first.objects) {
            fail("the history's objects differ: \(database.objects), \(first.objects.objects)")
        }
        if (try? ObjectSchema(made: Changeset(database.standing.schema)))?.includes(app.schema) != true {
            fail("the history doesn't have the classes of the app")
        }
        let visits = first.objects.objects[edits.visits]?["visits"]?.int64Value ?? 0
        if scenario.countsAll, visits != added { fail("of \(added) the counter has \(visits)") }
    }
}

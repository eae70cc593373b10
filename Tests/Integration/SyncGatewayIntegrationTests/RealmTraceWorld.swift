import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import RealmSync
import RealmTestClient
import SyncEngine
import SyncProtocol
import TestSupport
import Vectors

/// A partition of a replayed client: what its objects are in the trace, and what the trace's server and other clients do in it by
/// themselves.
final class RealmTraceWorld {
    let partition: Partition
    /// The objects after everything that was uploaded and that the server did.
    private(set) var objects = PartitionObjects()
    /// What clients have uploaded and was taken, in order; `origin` is the number of the file. Without what only makes classes.
    private(set) var uploads: [TracedChangeset] = []
    /// The newest file of the replayed client.
    var file: RealmTraceFile?
    let fixture: GatewayFixture
    let app: String
    let user: String
    private var other: RealmClient?
    private var device: Device?
    private var grants: Int64 = 0
    private var questions: Locked<[PermissionRequest]>?

    init(_ partition: Partition, user: String, app: String, of fixture: GatewayFixture) {
        self.partition = partition
        self.user = user
        self.app = app
        self.fixture = fixture
    }

    // MARK: Objects

    /// The bytes of a changeset in this partition.
    ///
    /// The trace's server keeps the objects of each partition by themselves, and in `room=43` there is an object with a key that one in
    /// `room=42` has. Both are documents of one collection, where a key is there once: so those in `room=43` get others.
    func bytes(_ bytes: [UInt8]) -> [UInt8] {
        guard partition.text == "s:room=43" else { return bytes }
        let prefix: [UInt8] = [0x65] + [UInt8](repeating: 0, count: 10)
        var bytes = bytes
        for place in bytes.indices.dropLast(prefix.count) where bytes[place...].starts(with: prefix) {
            bytes[place] = 0x66
        }
        return bytes
    }

    func apply(_ changeset: RealmSync.Changeset) throws { try objects.apply(changeset) }

    /// A client uploads this for the first time.
    func upload(_ changeset: TracedChangeset, from file: UInt64) throws {
        let decoded = try changeset.decoded()
        try objects.apply(decoded)
        if decoded.isOfSchema { return }
        uploads.append(changeset)
        uploads[uploads.count - 1].origin = file
    }

    /// What the replayed client has uploaded with this version was refused.
    func refuse(_ version: UInt64) {
        uploads.removeAll { $0.origin == file?.ident && $0.clientVersion == version }
    }

    /// How a client's objects differ from the trace's; nil if they don't.
    ///
    /// The app's classes have the partition key, which those of the trace don't: the server sets it in each object that a client makes.
    func difference(from others: PartitionObjects) -> String? {
        var others = others
        for key in others.objects.keys { others.objects[key]?["_partition"] = nil }
        for (key, object) in objects.objects {
            guard let other = others.objects[key] else { return "object \(key.table) \(key.id)" }
            guard object.isIdentical(to: other) else {
                return
                    "object \(key.table) \(key.id): \(ExtendedJSON.print(object)); it is \(ExtendedJSON.print(other))"
            }
        }
        let superfluous = others.objects.keys.filter { objects.objects[$0] == nil }
        return superfluous.isEmpty ? nil : "the end of \(superfluous.map { "\($0.table) \($0.id)" })"
    }

    // MARK: What others do

    /// The app's classes: a new document needs all properties that are required, also if the trace's server had none for them.
    private static let classes = ObjectSchema.reading(
        RecordedClient.schemas.compactMap { json, relationships in
            (try? ExtendedJSON.parseDocument(json)).map {  // the app couldn't be deployed with a schema that isn't JSON
                CollectionClass(
                    collection: $0["title"]?.stringValue ?? "", schema: $0, relationships: relationships)
            }
        }
    ).schema

    /// Does what the trace's server or another client has done: the server writes documents, a client uploads what it did.
    func perform(_ changeset: TracedChangeset) async throws {
        var changeset = changeset
        changeset.bytes = bytes(changeset.bytes)
        guard changeset.origin == 1 else { return try await uploadAsOther(changeset) }
        let decoded = try changeset.decoded(), former = objects.objects
        try objects.apply(decoded)
        for key in try decoded.objects() {
            guard let write = Self.classes.write(key, from: former[key], to: objects.objects[key]) else { continue }
            let collection = fixture.store.collection(key.table, database: "chat", app: app)
            let filter: Document = ["_id": key.id.value]
            switch write {
            case .insert(var document):
                document["_partition"] = partition.value
                try await collection.insertOne(document)
            case .update(let changes):
                try await collection.updateOne(filter, .document(DocumentWrite.operators(changes)))
            case .delete: try await collection.deleteOne(filter)
            }
        }
    }

    private func uploadAsOther(_ changeset: TracedChangeset) async throws {
        let client = other ?? RealmClient(user, in: partition, of: fixture, app: app)
        if other == nil { try await client.open() } else { try await client.catchUp() }
        other = client
        client.setClock(to: changeset.time)
        try client.apply(try changeset.decoded())
        try await client.upload()
        try upload(changeset, from: client.file?.ident ?? 0)
    }

    /// Waits until a changeset of the client is in the documents.
    func waitUntilStored(_ changeset: RealmSync.Changeset) async throws {
        for key in try changeset.objects() {
            let collection = fixture.store.collection(key.table, database: "chat", app: app)
            try await eventually("\(key) is stored") {
                try await collection.findOne(["_id": key.id.value]) != nil
            }
        }
    }

    /// Gives the user this access, and returns when the gateway knows.
    func grant(_ access: Grant.Access) async throws {
        grants += 1
        try await fixture.grant(access, to: user, in: partition, version: grants, app: app)
        if let device {
            while true {
                if case .access(partition, let told) = try await device.next(), told.rawValue == access.rawValue {
                    return
                }
            }
        }
        let device = try await fixture.device(user, app: app)
        _ = try await device.open(partition)
        self.device = device
    }

    /// Listens for what the gateway asks permissions.
    func listen() async throws { questions = try await fixture.received(PermissionRequest.self) }

    /// Waits until the gateway asks for the user's grant, and answers as permissions does if there is none.
    func deny() async throws {
        try await eventually("permissions is asked") {
            questions?.withLock { $0.contains { $0.app == app && $0.partition == partition } } == true
        }
        try await fixture.deny(user, partition, app: app)
    }

    /// The server forgets the partition's client files.
    func forgetFiles() async throws {
        try await fixture.postgres.execute(
            "delete from partita.realm_files where app = $1 and partition = $2",
            [.text(app), .text(partition.text)])
    }

    func close() {
        other?.cut()
        device?.close()
    }
}

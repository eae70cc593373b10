import DocumentModel
import DocumentStore
import EventLoop
import Foundation
import PartitaClient
import Postgres
import SyncEngine

/// A user who becomes a member of a team, writes, and is removed again, over and over.
///
/// Once a removal is acknowledged (its receipt is out), a marker is written into the partition. Until the user is a member again, none of
/// their writes may have a later revision, and their device must not be sent the marker.
final class ChaosVisitor: Sendable {
    let name: String
    let team: String
    let session: Session
    private let app: PartitaApp
    private let watch: MarkerWatch
    private let store: DocumentStore
    private let tool: Tool
    private let state = Locked(State())

    private struct State {
        var round = 0
        var step = ""
        var isDone = false
    }

    static func enter(_ name: String, team: String, stage: ChaosStage, store: DocumentStore, tool: Tool) async throws
        -> ChaosVisitor
    {
        let watch = MarkerWatch(loop: stage.loop)
        let (app, session) = try await stage.enter(name, transport: watch)
        return ChaosVisitor(
            name: name, team: team, session: session, app: app, watch: watch, store: store, tool: tool)
    }

    private init(
        name: String, team: String, session: Session, app: PartitaApp, watch: MarkerWatch, store: DocumentStore,
        tool: Tool
    ) {
        self.name = name
        self.team = team
        self.session = session
        self.app = app
        self.watch = watch
        self.store = store
        self.tool = tool
    }

    func close() async throws { try await app.close() }

    /// How many removals were acknowledged.
    var rounds: Int { state.withLock { $0.round } }

    /// What it waits for; `nil` when its last removal is acknowledged and over.
    var waiting: String? { state.withLock { $0.isDone ? nil : "\(name), round \($0.round + 1): \($0.step)" } }

    /// The markers that its device was sent.
    var leaks: [String] { watch.leaks }

    func marker(_ round: Int) -> String { "marker-\(name)-\(round)-" }
    func opening(_ round: Int) -> String { "opening-\(name)-\(round)-" }

    // MARK: Rounds

    /// Comes and goes until `isOver`; the last round is completed.
    func run(seed: UInt64, until isOver: @Sendable () -> Bool) async throws {
        var generator = SeededGenerator(seed: seed)
        while !isOver() {
            try await round(
                stay: .milliseconds(Int.random(in: 500...5000, using: &generator)),
                away: .milliseconds(Int.random(in: 500...5000, using: &generator)))
        }
        state.withLock { $0.isDone = true }
    }

    private func round(stay: Duration, away: Duration) async throws {
        let round = state.withLock { $0.round }
        step("to be made a member")
        try await write(opening(round))
        watch.allow()
        let member: Document = [
            "_id": .string("\(name)-\(team)"), "user": .string(session.userId), "team": .string(team),
        ]
        try await ChaosPatience.again {
            _ = try await self.members.replaceOne(
                ["_id": member["_id"] ?? .null], member, options: UpdateOptions(upsert: true))
        }
        step("to read the partition")
        let handle = try await open()
        // It ends when it is told that the user may not write any more.
        let writing = Task { try await visit(handle, round) }
        try await Task.sleep(for: stay)
        step("the receipt of the removal")
        try await ChaosPatience.again { _ = try await self.members.deleteOne(["_id": member["_id"] ?? .null]) }
        try await ChaosPatience.again {
            while try await !self.isShutOut() {
                try await Task.sleep(for: .milliseconds(100))  // nothing tells when
            }
        }
        watch.forbid(marker(round))
        try await write(marker(round))
        step("the device to be told of the removal")
        try await withTaskCancellationHandler {
            try await writing.value
        } onCancel: {
            writing.cancel()
        }
        try await Task.sleep(for: away)
        state.withLock { $0.round += 1 }
    }

    private func step(_ text: String) { state.withLock { $0.step = text } }

    private func open() async throws -> PartitionHandle {
        while true {
            do {
                return try await session.openPartition(.string(team), waitForFirstSync: true)
            } catch let error as PartitaError where error.code == .revoked {
                // permissions hasn't decided anew yet; nothing tells when.
                try await Task.sleep(for: .milliseconds(300))
            }
        }
    }

    /// Writes until the device knows that the user may not.
    private func visit(_ handle: PartitionHandle, _ round: Int) async throws {
        var number = 0
        do {
            while true {
                number += 1
                let id = "visit-\(name)-\(round)-\(number)"
                try await handle.write {
                    $0.insert(
                        "Visit", ["_id": .string(id), "partition": .string(self.team), "visitor": .string(self.name)])
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        } catch let error as PartitaError where error.code == .revoked {
            await handle.close()
        }
    }

    // MARK: The server's side

    private var members: DocumentCollection {
        store.collection("Member", database: ChaosApp.database, app: ChaosApp.id)
    }

    private func write(_ id: String) async throws {
        let document: Document = ["_id": .string(id), "partition": .string(team)]
        let collection = store.collection("Visit", database: ChaosApp.database, app: ChaosApp.id)
        try await ChaosPatience.again {
            _ = try await collection.replaceOne(["_id": .string(id)], document, options: UpdateOptions(upsert: true))
        }
    }

    /// Whether the right was taken away, and the receipt is out.
    private func isShutOut() async throws -> Bool {
        let pair: [PostgresValue] = [.text(ChaosApp.id), .text("s:" + team), .text(session.userId)]
        let rows = try await tool.postgres.query(
            """
            select access = 'none' and not exists (
                select from partita.fences where app = $1 and partition = $2 and user_id = $3
            ) from partita.grants where app = $1 and partition = $2 and user_id = $3
            """, pair)
        return try rows.first?.decode(0) == true
    }
}

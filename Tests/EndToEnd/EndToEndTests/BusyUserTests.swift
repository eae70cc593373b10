import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

extension EndToEnd {
    /// One user's requests don't delay another user's.
    struct BusyUserTests {
        /// A pipeline that computes for minutes, each of its documents for a few hundredths of a second.
        private static let long: [Value] = {
            func nested(_ inner: Value) -> Value {
                ["$size": ["$map": ["input": ["$range": [0, 1000]], "in": inner]]]
            }
            return [
                ["$documents": [["a": 1]]], ["$set": ["x": ["$range": [0, 100_000]]]], ["$unwind": "$x"],
                ["$project": ["n": nested(nested(1))]],
            ]
        }()

        /// An action of the data API.
        private func act(
            _ action: String, as token: String, _ parts: Document, _ http: HTTPClient, _ system: RunningSystem
        ) async throws -> HTTPClient.Response {
            var body: Document = ["dataSource": "mongodb-atlas", "database": "RChat", "collection": "Chatster"]
            for part in parts.fields { body[part.key] = part.value }
            return try await http.send(
                .init(
                    method: "POST", url: system.publicURL + "/app/rchat/endpoint/data/v1/action/" + action,
                    headers: [
                        .init("Authorization", "Bearer \(token)"), .init("Content-Type", "application/json"),
                    ], body: Array(ExtendedJSON.print(body).utf8), timeout: .seconds(60)))
        }

        @Test func `pipelines end at their time limit, and don't delay other users`() async throws {
            let system = try await RunningSystem.shared()
            let eve = try await TestDevice.register("eve", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let http = HTTPClient(loop: system.loop)
            let eves = try await eve.accessToken(on: system), bens = try await ben.accessToken(on: system)
            let running = Locked(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        running.withLock { $0 += 1 }
                        let answer = try await act(
                            "aggregate", as: eves, ["pipeline": .array(Self.long), "maxTimeMS": 6000], http, system)
                        running.withLock { $0 -= 1 }
                        // Two at a time, so that the last ones would start only after the longest wait.
                        let isRefused = answer.status == 429 && answer.text.contains("TooManyRequests")
                        #expect(isRefused || answer.text.contains("time limit"), "\(answer.text)")
                    }
                }
                try await eventually("they run") { running.withLock { $0 } == 6 }
                for _ in 0..<5 {
                    let found = try await act(
                        "findOne", as: bens, ["filter": ["_id": .string(ben.session.userId)]], http, system)
                    #expect(found.status == 200, "\(found.text)")
                }
                let left = running.withLock { $0 }
                #expect(left == 6, "a find waited for a pipeline")
                try await group.waitForAll()
            }
            await http.shutDown()
            for device in [eve, ben] { try await device.close() }
        }

        @Test func `queries that hold connections don't delay other users' sync and reads`() async throws {
            let system = try await RunningSystem.shared()
            let eve = try await TestDevice.register("eve", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let http = HTTPClient(loop: system.loop)
            let eves = try await eve.accessToken(on: system), bens = try await ben.accessToken(on: system)
            /// Each reads her own document, and holds its connection until its time limit.
            let holding: Value = .array([["$match": ["_id": .string(eve.session.userId)]]] + Self.long.dropFirst())
            let statuses = Locked<[Int]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        let answer = try await act(
                            "aggregate", as: eves, ["pipeline": holding, "maxTimeMS": 20_000], http, system)
                        statuses.withLock { $0.append(answer.status) }
                        let isRefused = answer.status == 429 && answer.text.contains("TooManyRequests")
                        #expect(isRefused || answer.text.contains("time limit"), "\(answer.text)")
                    }
                }
                let start = ContinuousClock.now
                var rounds = 0
                while ContinuousClock.now - start < .seconds(12) {
                    let begun = ContinuousClock.now
                    let found = try await act(
                        "findOne", as: bens, ["filter": ["_id": .string(ben.session.userId)]], http, system)
                    #expect(found.status == 200, "\(found.text)")
                    let talk = try await ben.beginConversation()
                    let handle = try await ben.open(talk)
                    try await ben.send("hello", to: handle)
                    try await handle.waitForUploads()
                    await handle.close()  // a device has a limited number of them open
                    rounds += 1
                    // They waited for 13 s when her queries could take all connections.
                    #expect(ContinuousClock.now - begun < .seconds(5))
                }
                #expect(rounds > 2)
                #expect(statuses.withLock { $0 }.contains(429), "who asks for too much is told so")
                group.cancelAll()
                while await group.nextResult() != nil {}  // what was still running is cancelled
            }
            await http.shutDown()
            for device in [eve, ben] { try await device.close() }
        }

        @Test func `partitions invented on many sockets don't delay other decisions, and leave nothing`() async throws {
            let system = try await RunningSystem.shared()
            let eve = try await TestDevice.register("eve", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let token = try await eve.accessToken(on: system)
            var sockets: [RawDevice] = []
            for _ in 0..<15 {
                let socket = try await RawDevice.connect(system)
                try await socket.greet(token)
                sockets.append(socket)
            }
            let isOver = Locked(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for socket in sockets {
                    group.addTask {
                        while !isOver.withLock({ $0 }), !socket.isClosed {
                            for _ in 0..<20 {
                                socket.send(
                                    .subscribe(
                                        partition: Partition(text: "s:conversation=\(UUID().uuidString)"),
                                        checkpoint: Revision(epoch: 0, number: 0)))
                            }
                            try await Task.sleep(for: .milliseconds(50))  // thousands of questions each second
                        }
                    }
                }
                try await eventually("eve is told no") {
                    sockets.allSatisfy { socket in
                        socket.frames.contains { if case .error = $0 { true } else { false } }
                    }
                }
                for _ in 0..<5 {
                    let talk = try await ben.beginConversation()
                    let start = ContinuousClock.now
                    _ = try await ben.open(talk)
                    // It waited for 38 s when all questions had one queue.
                    #expect(ContinuousClock.now - start < .seconds(10))
                }
                isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
            for socket in sockets { socket.close() }
            for table in ["grants", "grant_subjects", "grant_dependencies"] {
                try await eventually("nothing of it is left in \(table)", within: patience) {
                    try await system.query(
                        "select 1 from partita.\(table) where user_id = $1 and partition like 's:conversation=%' limit 1",
                        [.text(eve.session.userId)]
                    ).isEmpty
                }
            }
            for device in [eve, ben] { try await device.close() }
        }
    }
}

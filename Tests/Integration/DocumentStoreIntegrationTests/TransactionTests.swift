import DocumentModel
import DocumentStore
import EventLoop
import TestSupport
import Testing

@Suite struct TransactionTests {
    private func accounts(_ fixture: StoreFixture) async throws -> DocumentCollection {
        let accounts = fixture.store.collection("Account", database: "RChat", app: StoreFixture.app)
        try await accounts.insertMany([
            ["_id": "a", "partition": "p", "sum": 10], ["_id": "b", "partition": "p", "sum": 0],
        ])
        return accounts
    }

    @Test func `a transaction reads what it wrote, and others don't before it commits`() async throws {
        try await StoreFixture.with { fixture in
            let outside = try await accounts(fixture)
            try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                let accounts = session.collection("Account", database: "RChat")
                try await accounts.updateOne(["_id": "a"], ["$inc": ["sum": -5]])
                try await accounts.updateOne(["_id": "b"], ["$inc": ["sum": 5]])
                #expect(try await accounts.find(["sum": 5]).count == 2)
                #expect(
                    try await accounts.aggregate([["$group": ["_id": .null, "all": ["$sum": "$sum"]]]]).first?["all"]
                        == 10)
                #expect(try await outside.countDocuments(["sum": 5]) == 0)
            }
            #expect(try await outside.countDocuments(["sum": 5]) == 2)
        }
    }

    @Test func `a write over a concurrent change restarts the transaction`() async throws {
        try await StoreFixture.with { fixture in
            let outside = try await accounts(fixture)
            let attempts = Locked(0)
            try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                let accounts = session.collection("Account", database: "RChat")
                let sum = try await accounts.findOne(["_id": "a"])?["sum"]?.intValue ?? 0
                if attempts.withLock({
                    $0 += 1; return $0
                }) == 1 {
                    try await outside.updateOne(["_id": "a"], ["$inc": ["sum": 1]])
                }
                try await accounts.updateOne(["_id": "a"], ["$set": ["sum": .int32(Int32(sum * 2))]])
            }
            #expect(attempts.withLock { $0 } == 2)
            #expect(try await outside.findOne(["_id": "a"])?["sum"] == 22)
            let error = await #expect(throws: DocumentStoreError.self) {
                try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                    let accounts = session.collection("Account", database: "RChat")
                    _ = try await accounts.findOne(["_id": "a"])
                    try await outside.updateOne(["_id": "a"], ["$inc": ["sum": 1]])
                    try await accounts.updateOne(["_id": "a"], ["$set": ["sum": 0]])
                }
            }
            #expect(error?.mongoCode == 112)
            #expect(error?.errorLabels == ["TransientTransactionError"])
        }
    }

    @Test func `an abandoned transaction doesn't hold anything for long`() async throws {
        try await StoreFixture.with(connections: 6) { fixture in
            let outside = try await accounts(fixture)
            let hasWritten = Locked(false)
            let isDone = Locked(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // On a busy machine its time may be over before it has written; then it is tried again.
                    while !hasWritten.withLock({ $0 }) {
                        let error = await #expect(throws: (any Error).self) {
                            try await fixture.store.withTransaction(
                                app: StoreFixture.app, lifetime: .milliseconds(300)
                            ) { session in
                                let accounts = session.collection("Account", database: "RChat")
                                try await accounts.updateOne(["_id": "a"], ["$set": ["sum": 99]])
                                hasWritten.withLock { $0 = true }
                                try await eventually("the other one has written", within: patience) {
                                    isDone.withLock { $0 }
                                }
                                try await accounts.updateOne(["_id": "a"], ["$set": ["sum": 100]])
                            }
                        }
                        #expect((error as? DocumentStoreError)?.mongoCode == 290)
                    }
                }
                try await eventually("the transaction has written", within: patience) { hasWritten.withLock { $0 } }
                try await eventually("the document is free", within: patience) {
                    do {
                        return try await outside.updateOne(["_id": "a"], ["$set": ["sum": 1]]).modifiedCount == 1
                    } catch let error as DocumentStoreError where error.isRetriable {
                        return false
                    }
                }
                isDone.withLock { $0 = true }
                try await group.waitForAll()
            }
            #expect(try await outside.findOne(["_id": "a"])?["sum"] == 1)
        }
    }
}

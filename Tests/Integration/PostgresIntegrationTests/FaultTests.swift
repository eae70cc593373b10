import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct FaultTests {
    @Test func `a refused connection is reported to waiting callers`() async throws {
        var configuration = PostgresConfiguration(url: "postgres://nobody@127.0.0.1:1/none")
        configuration.leaseTimeout = .milliseconds(300)
        try await PostgresClient.withClient(configuration, on: loops) { client in
            try await eventually("the reason is known") {
                do {
                    _ = try await client.query("SELECT 1")
                    return false
                } catch let error as PostgresError {
                    guard error.code == .poolTimeout else { throw error }
                    return (error.underlyingError as? PostgresError)?.code == .connectionFailed
                }
            }
            // The health check doesn't wait for an unavailable connection.
            await #expect { try await client.check() } throws: { ($0 as? PostgresError)?.code == .connectionFailed }
        }
        let connection = PostgresConnection(configuration: configuration, on: loops.next())
        await #expect { try await connection.connect() } throws: { ($0 as? PostgresError)?.isRetriable == true }
    }

    @Test func `a URL that can't be read is refused without quoting it`() async throws {
        let connection = PostgresConnection(
            configuration: PostgresConfiguration(url: "postgres://u:hush@[::"), on: loops.next())
        await #expect { try await connection.connect() } throws: {
            ($0 as? PostgresError)?.code == .invalidConfiguration && !String(reflecting: $0).contains("hush")
        }
        await connection.close()
    }

    @Test func `a pool reconnects after its connections were killed`() async throws {
        try await withClient { client in
            try await eventually("both connections are up") { client.connectionCount == 2 }
            let name = try await client.query("SELECT current_database()").decode(String.self)[0]
            try await withConnection { other in
                _ = try await other.query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(name)])
            }
            try await eventually("a statement runs again") {
                do {
                    try await client.check()
                    return true
                } catch let error as PostgresError where error.isRetriable {
                    return false
                }
            }
            try await eventually("both connections are up again") { client.connectionCount == 2 }
        }
    }

    @Test func `a connection is prepared before anybody uses it, and another one is tried if that fails`() async throws
    {
        struct Unprepared: Error {}
        let prepared = Locked(0)
        try await withClient {
            $0.connections = 1
            $0.prepare = { connection in
                let count = prepared.withLock { count in
                    count += 1
                    return count
                }
                if count < 3 { throw Unprepared() }
                try await connection.execute("SET application_name = 'prepared \(count)'")
            }
        } _: { client in
            let name = "SELECT current_setting('application_name')"
            #expect(try await client.query(name).decode(String.self) == ["prepared 3"])
            _ = try? await client.query("SELECT pg_terminate_backend(pg_backend_pid())")
            try await eventually("the next connection is prepared, too") {
                (try? await client.query(name).decode(String.self)) == ["prepared 4"]
            }
        }
    }

    @Test func `statements in flight when the connection died fail as unknown`() async throws {
        try await withConnection { victim in
            let process = try await victim.query("SELECT pg_backend_pid()").decode(Int.self)[0]
            let sleeping = Task { try await victim.query("SELECT pg_sleep(20)") }
            try await withConnection { other in
                try await eventually("it sleeps") {
                    try await other.query(
                        "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep%' AND state = 'active'",
                        [.int(Int64(process))]
                    ).count == 1
                }
                _ = try await other.query("SELECT pg_terminate_backend($1)", [.int(Int64(process))])
            }
            await #expect(throws: PostgresError.self) { _ = try await sleeping.value }
            try await eventually("the connection is closed") { await victim.isClosed }
            await #expect { try await victim.query("SELECT 1") } throws: { ($0 as? PostgresError)?.code == .closed }
        }
    }

    @Test func `cancelling a task stops its statement on the server`() async throws {
        try await withClient {
            $0.connections = 1
        } _: { client in
            let start = ContinuousClock.now
            let sleeping = Task { try await client.withConnection { try await $0.query("SELECT pg_sleep(120)") } }
            try await withConnection { other in
                try await eventually("it sleeps") {
                    try await other.query(
                        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(120)%' AND state = 'active' AND pid <> pg_backend_pid()"
                    ).count >= 1
                }
            }
            sleeping.cancel()
            await #expect(throws: CancellationError.self) { _ = try await sleeping.value }
            try await client.check()
            #expect(ContinuousClock.now - start < .seconds(100))
        }
    }

    @Test func `cancelling a statement stops none of other callers on its connection`() async throws {
        try await withClient {
            $0.connections = 1
        } _: { client in
            for _ in 0..<20 {
                let short = Task { try await client.query("SELECT pg_sleep(0.003)") }
                let others = (0..<4).map { number in
                    Task { try await client.query("SELECT \(number), pg_sleep(0.005)") }
                }
                // About when it ends: a request to stop it would come too late, and stop one of the others.
                try await Task.sleep(for: .milliseconds(2))
                short.cancel()
                for other in others {
                    let rows = try await other.value
                    #expect(rows.count == 1)
                }
                do {
                    _ = try await short.value
                } catch is CancellationError {
                    // Nobody waited behind it.
                }
            }
        }
    }

    @Test func `a statement that begins while another one is cancelled runs to its end`() async throws {
        try await withClient {
            $0.connections = 1
        } _: { client in
            for _ in 0..<10 {
                let long = Task { try await client.query("SELECT pg_sleep(0.05)") }
                try await Task.sleep(for: .milliseconds(20))
                long.cancel()
                let others = (0..<4).map { _ in Task { try await client.query("SELECT pg_sleep(0.005)") } }
                for other in others { _ = try await other.value }
                _ = await long.result
            }
        }
    }

    @Test(arguments: ["53100", "53200", "25006"])
    func `a server that lacks what writes need is remembered for a while`(_ sqlstate: String) async throws {
        try await withClient { client in
            try client.checkShortages()
            await #expect(throws: PostgresError.self) { try await client.query("select 1 / 0") }
            try client.checkShortages()
            await #expect(throws: PostgresError.self) {
                try await client.query("do $$ begin raise exception 'no' using errcode = '\(sqlstate)'; end $$")
            }
            let error = #expect(throws: PostgresError.self) { try client.checkShortages() }
            #expect(error?.sqlstate == sqlstate)
            try client.checkShortages(within: .zero)
            try await client.check()
        }
    }

    @Test func `a session that began read-only is replaced when it has refused a write`() async throws {
        let url = try await TestEngines.shared().makeDatabase()
        var operatorSettings = PostgresConfiguration(url: url), settings = operatorSettings
        (operatorSettings.connections, settings.connections) = (1, 2)
        operatorSettings.settings["default_transaction_read_only"] = "off"
        try await PostgresClient.withClient(operatorSettings, on: loops) { [settings] client in
            let name = try await client.query("select quote_ident(current_database())").decode(String.self)[0]
            try await client.execute("create table written (n int)")
            try await client.execute("alter database \(name) set default_transaction_read_only = on")
            try await PostgresClient.withClient(settings, on: loops) { service in
                let insert = "insert into written values (1)"
                let error = await #expect(throws: PostgresError.self) { try await service.execute(insert) }
                #expect(error?.sqlstate == "25006")
                try await client.execute("alter database \(name) reset default_transaction_read_only")
                try await eventually("writes succeed again", within: .seconds(30)) {
                    do {
                        return try await service.execute(insert) == 1
                    } catch let error as PostgresError {
                        #expect(error.sqlstate == "25006" || error.failureClass != .refused, "\(error)")
                        return false
                    }
                }
            }
        }
    }

    @Test func `the server ends a statement that takes too long`() async throws {
        try await withConnection {
            $0.statementTimeout = .milliseconds(50)
        } _: { connection in
            await #expect { try await connection.query("SELECT pg_sleep(20)") } throws: {
                ($0 as? PostgresError)?.sqlstate == "57014"
            }
            let one = try await connection.query("SELECT 1").decode(Int.self)
            #expect(one == [1])
        }
    }

    @Test func `a server that doesn't answer is given up`() async throws {
        try await withConnection {
            $0.statementTimeout = nil
            $0.answerTimeout = .milliseconds(300)
        } _: { connection in
            await #expect { try await connection.query("SELECT pg_sleep(20)") } throws: {
                ($0 as? PostgresError)?.code == .timeout
            }
        }
    }

    @Test func `waiters beyond the limit are refused, a cancelled one leaves`() async throws {
        try await withClient {
            $0.connections = 1
            $0.maximumWaiters = 1
        } _: { client in
            try await client.withConnection { _ in
                let waiting = Task { try await client.withConnection { _ in } }
                try await eventually("the second is refused") {
                    do {
                        // Cancelled immediately, in case it is the one that waits.
                        let attempt = Task { try await client.withConnection { _ in } }
                        attempt.cancel()
                        try await attempt.value
                        return false
                    } catch let error as PostgresError {
                        return error.code == .poolExhausted
                    } catch is CancellationError {
                        return false
                    }
                }
                waiting.cancel()
                await #expect(throws: CancellationError.self) { try await waiting.value }
            }
            try await client.check()
        }
    }

    @Test(.timeLimit(.minutes(1))) func `clients that start and stop at once all come to an end`() async throws {
        var configuration = PostgresConfiguration(url: try await TestEngines.shared().postgresURL)
        configuration.connections = 2
        try await withThrowingTaskGroup(of: Void.self) { [configuration] group in
            for number in 0..<6 {
                group.addTask {
                    for _ in 0..<10 {
                        try await PostgresClient.withClient(configuration, on: loops) { client in
                            if number % 2 == 0 { try await client.check() }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a listener gets notifications, and knows where it may have missed some`() async throws {
        let url = try await TestEngines.shared().makeDatabase()
        let listener = PostgresListener(
            configuration: PostgresConfiguration(url: url), channels: ["News", "other"], on: loops.next())
        let running = Task { try await listener.run() }
        var events = listener.events.makeAsyncIterator()
        #expect(await events.next() == .gap)
        try await PostgresClient.withClient(PostgresConfiguration(url: url), on: loops) { client in
            try await client.execute(#"NOTIFY "News", 'hello'"#)
            try await client.execute("SELECT pg_notify('other', '')")
        }
        guard case .notification(let first) = await events.next(), case .notification(let second) = await events.next()
        else {
            Issue.record("no notification")
            return
        }
        #expect(first.channel == "News" && first.payload == "hello")
        #expect(second.channel == "other" && second.payload == "")
        try await PostgresClient.withClient(PostgresConfiguration(url: url), on: loops) { client in
            _ = try await client.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            )
        }
        #expect(await events.next() == .gap)
        running.cancel()
        try await running.value
        #expect(await events.next() == nil)
    }
}

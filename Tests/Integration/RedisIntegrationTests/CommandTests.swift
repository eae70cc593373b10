import Redis
import Testing

@Suite struct CommandTests {
    @Test func `values survive a round trip`() async throws {
        try await withClient { client, prefix in
            let key = prefix + "k"
            let bytes: [UInt8] = [0, 13, 10, 255]
            #expect(try await client.command(["SET", key, bytes, "PX", 60_000]) == .status("OK"))
            #expect(try await client.command(["GET", key]).bytes == bytes)
            #expect(try await client.command(["GET", prefix + "missing"]).isNull)
            #expect(try await client.command(["INCRBY", prefix + "n", Int64.max]).int == .max)
            #expect(try await client.command(["RPUSH", prefix + "l", "a", "", "ü"]).int == 3)
            let list = try await client.command(["LRANGE", prefix + "l", 0, -1])
            #expect(list.array?.map(\.string) == ["a", "", "ü"])
            #expect(try await client.command(["DEL", key, prefix + "n", prefix + "l"]).int == 3)
        }
    }

    @Test func `an error of the server names its kind and hides the data`() async throws {
        try await withClient { client, prefix in
            try await client.command(["SET", prefix + "k", "secret", "PX", 60_000])
            await #expect { try await client.command(["LPUSH", prefix + "k", "x"]) } throws: {
                let error = $0 as? RedisError
                return error?.prefix == "WRONGTYPE" && error?.isRetriable == false
            }
            await #expect { try await client.command(["NOSUCH", "secret"]) } throws: {
                !"\($0)".contains("secret") && String(reflecting: $0).contains("secret")
            }
        }
    }

    @Test func `each of many tasks gets the answers of its own commands`() async throws {
        try await withClient {
            $0.connections = 2
        } _: { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<2000 {
                    group.addTask {
                        let answer = try await client.command(["ECHO", number])
                        #expect(answer.int == number)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a pipeline answers in order, errors in their places`() async throws {
        try await withClient { client, prefix in
            let values = try await client.pipeline([
                RedisCommand(["SET", prefix + "k", 1, "PX", 60_000]), RedisCommand(["HGET", prefix + "k", "f"]),
                RedisCommand(["INCR", prefix + "k"]),
            ])
            #expect(values.count == 3 && values[2].int == 2)
            #expect(throws: RedisError.self) { try values[1].get() }
            let none = try await client.pipeline([])
            #expect(none.isEmpty)
        }
    }

    @Test func `a transaction is applied as a whole or not at all`() async throws {
        try await withClient { client, prefix in
            let values = try await client.transaction([
                RedisCommand(["SET", prefix + "k", 1, "PX", 60_000]), RedisCommand(["INCR", prefix + "k"]),
            ])
            #expect(values.map(\.int) == [nil, 2])
            await #expect(throws: RedisError.self) {
                try await client.transaction([RedisCommand(["INCR", prefix + "k"]), RedisCommand(["NOSUCH"])])
            }
            let value = try await client.command(["GET", prefix + "k"]).int
            #expect(value == 2)
        }
    }

    @Test func `a script runs whether the server knows it or not`() async throws {
        try await withClient { client, prefix in
            // The prefix in its source makes it a script that the server has never seen.
            let script = RedisScript("local p = '\(prefix)'; return {KEYS[1], ARGV[1], redis.call('INCR', KEYS[1])}")
            let key = prefix + "k"
            let known = try await client.command(["SCRIPT", "EXISTS", script.digest])
            #expect(known == .array([.integer(0)]))
            #expect(try await client.eval(script, keys: [key], arguments: ["x"]).array?.last?.int == 1)
            #expect(try await client.command(["SCRIPT", "EXISTS", script.digest]) == .array([.integer(1)]))
            #expect(
                try await client.eval(script, keys: [key], arguments: ["x"]).array?.map(\.string) == [key, "x", nil])
            let other = RedisScript("return '\(prefix)' .. ARGV[1]")
            let values = try await client.pipeline((0..<3).map { RedisCommand(other, arguments: [$0]) })
            #expect(values.map(\.string) == (0..<3).map { "\(prefix)\($0)" })
            let third = RedisScript("return redis.call('INCR', KEYS[1]) -- \(prefix)")
            #expect(try await client.transaction([RedisCommand(third, keys: [key])]) == [.integer(3)])
            try await client.command(["DEL", key])
        }
    }

    @Test func `a URL is read`() throws {
        let plain = try RedisConfiguration(url: "redis://example.org")
        #expect(plain.host == "example.org" && plain.port == 6379 && plain.database == 0 && plain.password == nil)
        let full = try RedisConfiguration(url: "redis://user:p%40ss@[::1]:7000/3")
        #expect(full.host == "::1" && full.port == 7000 && full.database == 3)
        #expect(full.username == "user" && full.password == "p@ss")
        #expect(try RedisConfiguration(url: "redis://:x@h").username == nil)
        for url in ["redis://u@h", "redis://u:@h"] {
            let named = try RedisConfiguration(url: url)
            #expect(named.username == "u" && named.password == nil && named.host == "h")
        }
        #expect(try RedisConfiguration(url: "unix:///run/redis.sock").path == "/run/redis.sock")
        let secured = try RedisConfiguration(url: "rediss://:p@h:6380/1?cacert=/a%20b.pem&cert=/c.pem&key=/k.pem")
        #expect(secured.host == "h" && secured.port == 6380 && secured.database == 1 && secured.password == "p")
        for wrong in [
            "http://h", "rediss://h?insecure=true", "rediss://h?cert=/c.pem", "redis://h?cacert=/a.pem", "redis://h:0",
            "redis://h:x", "redis://h/x", "redis://:%zz@h",
        ] {
            #expect(throws: RedisError.self, "\(wrong)") { try RedisConfiguration(url: wrong) }
        }
    }
}

import Foundation
import ServiceBootstrap
import Testing

private enum Mode: String, CaseIterable { case fast, safe }

private let port = ConfigurationKey.int("http.port", default: 7001, range: 0...65_535, "The port.")
private let url = ConfigurationKey.url("postgres.url", schemes: ["postgres", "postgresql"], "Where documents are.")
private let token = ConfigurationKey.string("adminToken", isSecret: true, "Guards the admin API.").optional
private let timeout = ConfigurationKey.duration(
    "relay.timeout", default: .seconds(90), range: .milliseconds(10)...(.seconds(3600)), "Time for a batch.")
private let batch = ConfigurationKey.bytes("relay.batchSize", default: 65_536, range: 1...(1 << 30), "Size of a batch.")
private let origins = ConfigurationKey.list("cors.origins", default: [], "Pages that may call.")
private let verbose = ConfigurationKey.bool("verbose", default: false, "Says more.")
private let mode = ConfigurationKey<Mode>.choice("mode", default: .safe, "How to work.")
private let ratio = ConfigurationKey.double("ratio", default: 0.5, range: 0...1, "How much.")

@Suite struct ConfigurationTests {
    let keys = [
        port.description, url.description, token.description, timeout.description, batch.description,
        origins.description, verbose.description, mode.description, ratio.description,
    ]
    let required = ["postgres.url": "postgres://a:b@db/x"]

    @Test func `the environment wins over the file, and the file over the default`() throws {
        let configuration = try Configuration(
            keys: keys, fileValues: required.merging(["http.port": "1", "verbose": "true"]) { $1 },
            environment: ["PARTITA_HTTP_PORT": "2", "PARTITA_OTHER": "x", "PATH": "/bin"])
        #expect(configuration[port] == 2)
        #expect(configuration[verbose])
        #expect(configuration[timeout] == .seconds(90))
        #expect(configuration.source(of: "http.port") == .environment)
        #expect(configuration.source(of: "verbose") == .file)
        #expect(configuration.source(of: "mode") == .default)
    }

    @Test func `a secret may come in a file, and nothing else may`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }  // nothing depends on the removal
        for (text, value) in [
            ("s3cret", "s3cret"), ("s3cret\n", "s3cret"), ("two\nlines\r\n", "two\nlines"), (" \n", " "),
        ] {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let configuration = try Configuration(
                keys: keys, fileValues: required,
                environment: ["PARTITA_ADMIN_TOKEN_FILE": file, "PARTITA_HTTP_PORT_FILE": file])
            #expect(configuration[token] == value)
            #expect(configuration[port] == 7001)
            #expect(configuration.source(of: "adminToken") == .environment)
            #expect(configuration.redacted["adminToken"] == "<hidden>")
        }
        func problem(_ environment: [String: String]) -> String {
            do {
                _ = try Configuration(keys: keys, fileValues: required, environment: environment)
                return ""
            } catch { return "\(error)" }
        }
        let both = problem(["PARTITA_ADMIN_TOKEN_FILE": file, "PARTITA_ADMIN_TOKEN": "x"])
        #expect(both.contains("adminToken: is set by PARTITA_ADMIN_TOKEN and by PARTITA_ADMIN_TOKEN_FILE"), "\(both)")
        let none = problem(["PARTITA_ADMIN_TOKEN_FILE": "/nowhere/token"])
        #expect(none.contains("/nowhere/token") && none.contains("PARTITA_ADMIN_TOKEN_FILE"), "\(none)")
        try String(repeating: "x", count: 70_000).write(toFile: file, atomically: true, encoding: .utf8)
        #expect(problem(["PARTITA_ADMIN_TOKEN_FILE": file]).contains("at most 65536 bytes"))
        #expect(Configuration.helpText(keys).contains("PARTITA_ADMIN_TOKEN, or PARTITA_ADMIN_TOKEN_FILE"))
    }

    @Test func `values have their types`() throws {
        let configuration = try Configuration(
            keys: keys,
            fileValues: required.merging([
                "relay.timeout": "30m0s250ms", "relay.batchSize": "2MiB", "cors.origins": "https://a, https://b",
                "mode": "fast", "adminToken": "t", "ratio": "0.25",
            ]) { $1 })
        #expect(configuration[timeout] == .milliseconds(1_800_250))
        #expect(configuration[batch] == 2 << 20)
        #expect(configuration[origins] == ["https://a", "https://b"])
        #expect(configuration[mode] == .fast)
        #expect(configuration[token] == "t")
        #expect(configuration[ratio] == 0.25)
        #expect(try Configuration(keys: keys, fileValues: required)[token] == nil)
    }

    @Test func `names of the environment are upper snake`() {
        #expect(
            keys.map(\.environmentName).prefix(5) == [
                "PARTITA_HTTP_PORT", "PARTITA_POSTGRES_URL", "PARTITA_ADMIN_TOKEN", "PARTITA_RELAY_TIMEOUT",
                "PARTITA_RELAY_BATCH_SIZE",
            ])
    }

    @Test func `all faults are reported together, with their keys`() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration(
                keys: keys,
                fileValues: ["httpPort": "1", "relay.timeout": "5", "mode": "quick", "verbose": "yes", "ratio": "2"],
                environment: ["PARTITA_HTTP_PORT": "65536"])
        }
        let problems = try #require(error).problems
        #expect(
            problems.map(\.key) == [
                "httpPort", "http.port", "postgres.url", "relay.timeout", "verbose", "mode", "ratio",
            ])
        #expect(problems.map(\.code) == [.unknownKey, .invalid, .missing, .invalid, .invalid, .invalid, .invalid])
        let text = "\(try #require(error))"
        #expect(text.contains("httpPort: is unknown; did you mean http.port?"))
        #expect(text.contains(#"http.port: must be an integer, 0-65535, not "65536" (from PARTITA_HTTP_PORT)"#))
        #expect(text.contains("postgres.url: must be set, here or as PARTITA_POSTGRES_URL"))
        #expect(text.contains(#"mode: must be one of fast, safe, not "quick""#))
        #expect(!text.contains("\n"))
    }

    @Test func `a variable that is similar to one of ours is named, and no other`() throws {
        let configuration = try Configuration(
            keys: keys, fileValues: [:],
            environment: [
                "PARTITA_POSTGRES_URL": "postgres://a", "PARTITA_RELAY_TIMEOT": "5s", "PARTITA_HTTPPORT": "1",
                "PARTITA_MEDIA_DIRECTORY": "of another service", "PARTITA_MOED": "fast", "RELAY_TIMEOUT": "5s",
                "PARTITA_VERBOSE_FILE": "/run/verbose",
            ])
        #expect(
            configuration.misspelled.map { "\($0.variable) \($0.meant)" } == [
                "PARTITA_HTTPPORT PARTITA_HTTP_PORT", "PARTITA_MOED PARTITA_MODE",
                "PARTITA_RELAY_TIMEOT PARTITA_RELAY_TIMEOUT", "PARTITA_VERBOSE_FILE PARTITA_VERBOSE",
            ])
    }

    @Test func `a secret is shown in no message and in no log`() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration(keys: keys, fileValues: ["postgres.url": "mysql://user:hush@db"])
        }
        #expect("\(try #require(error))".contains("postgres.url: must be a URL that begins with postgres://"))
        #expect(!"\(try #require(error))".contains("hush"))
        let configuration = try Configuration(
            keys: keys, fileValues: required.merging(["adminToken": "hush", "http.port": "5"]) { $1 })
        #expect(
            configuration.redacted == ["postgres.url": "<hidden>", "adminToken": "<hidden>", "http.port": "5"])
    }

    @Test(arguments: [
        "", "5", "ms", "-5s", "1.5s", "5s5s", "1s1m", "99999999999999999999d", "9223372036854775807d", "1 s",
    ])
    func `a time without a proper unit is refused`(text: String) {
        #expect(throws: ConfigurationError.self) {
            try Configuration(keys: keys, fileValues: required.merging(["relay.timeout": text]) { $1 })
        }
    }

    @Test func `help lists every key with its details`() {
        let text = Configuration.helpText(keys)
        #expect(
            text.contains(
                "  http.port (int, optional, default: 7001, range: 0-65535)\n      The port.\n      PARTITA_HTTP_PORT\n"
            ))
        #expect(text.contains("  postgres.url (url, required, range: postgres://, postgresql://)"))
        #expect(text.contains("  adminToken (secret, optional)"))
        #expect(text.contains("default: 1m30s, range: 10ms-1h"))
        #expect(text.contains("default: 64KiB, range: 1-1GiB"))
        let markdown = Configuration.markdown(keys)
        #expect(markdown.contains("| `mode` | `PARTITA_MODE` | choice | `safe` | fast, safe | How to work. |"))
    }

    @Test func `a base URL has neither a query nor a fragment`() throws {
        let key = ConfigurationKey.url("public.url", schemes: ["https"], isBase: true, "Where clients are.")
        #expect(
            try Configuration(keys: [key.description], fileValues: ["public.url": "https://a/b/"])[key]
                == "https://a/b/")
        for text in ["https://a/?b=c", "https://a/#b", "https://a?"] {
            let error = #expect(throws: ConfigurationError.self) {
                try Configuration(keys: [key.description], fileValues: ["public.url": text])
            }
            #expect("\(try #require(error))".contains("no query and no fragment"))
        }
    }

    @Test func `a duration that contradicts another is an error of its key`() throws {
        let lease = ConfigurationKey.duration(
            "lease", default: .seconds(5), range: .milliseconds(500)...(.seconds(300)), "How long.")
        let configuration = try Configuration(keys: keys + [lease.description], fileValues: required)
        try configuration.check(lease, of: timeout)
        try configuration.check(lease, isAtMostHalf: true, of: timeout)
        let error = #expect(throws: ConfigurationError.self) {
            try configuration.check(timeout, isAtMostHalf: true, of: lease)
        }
        #expect(
            "\(try #require(error))" == "relay.timeout: must be at most half of lease, which is 5s, not 1m30s")
        let even = ConfigurationKey.duration(
            "even", default: .milliseconds(2500), range: .zero...(.seconds(3)), "How long.")
        try Configuration(keys: [lease.description, even.description], fileValues: [:])
            .check(even, isAtMostHalf: true, of: lease)
    }
}

@Suite struct ConfigurationFileTests {
    let keys = [
        port.description, url.description, origins.description, verbose.description, ratio.description,
        token.description,
    ]

    @Test func `lines of key = value are read`() throws {
        let configuration = try read(
            """
            # where things are
            postgres.url = postgres://a:b@db/x?sslmode=require
            \thttp.port=1234\r
            adminToken = " # with blanks "

            """)
        #expect(configuration[url] == "postgres://a:b@db/x?sslmode=require")
        #expect(configuration[port] == 1234)
        #expect(configuration[token] == " # with blanks ")
    }

    @Test func `JSON objects within objects make dotted keys`() throws {
        let configuration = try read(
            """
            {"postgres": {"url": "postgres://db"}, "http.port": 1234, "cors": {"origins": ["https://a", "https://b"]},
             "verbose": true, "ratio": 0.25}
            """)
        #expect(configuration[url] == "postgres://db")
        #expect(configuration[port] == 1234)
        #expect(configuration[origins] == ["https://a", "https://b"])
        #expect(configuration[verbose])
        #expect(configuration[ratio] == 0.25)
    }

    @Test(arguments: [
        ("http.port 5", "line 1: must be key = value"), ("http.port = 5\nhttp.port = 6", "http.port: "),
        ("{\"http.port\": ", "is not valid JSON"), ("{\"http.port\": null}", "http.port: must be a text"),
        ("{\"cors.origins\": [\"a,b\"]}", "without commas"),
        ("{\"http\": {\"port\": 1}, \"http.port\": 2}", "second time"),
    ])
    func `a malformed file is refused with its place`(text: String, message: String) {
        #expect { try read(text) } throws: { "\($0)".contains(message) }
    }

    @Test func `a missing file is named`() {
        #expect { try Configuration(keys: keys, file: "/does/not/exist.conf", environment: [:]) } throws: {
            let error = $0 as? ConfigurationError
            return error?.problems[0].code == .unreadableFile && "\($0)".contains("/does/not/exist.conf")
        }
    }

    private func read(_ text: String) throws -> Configuration {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }  // nothing depends on the removal
        return try Configuration(keys: keys, file: file.path, environment: [:])
    }

    @Test func `a text for an engine's client is of a scheme that it knows, or of none`() throws {
        let key = ConfigurationKey.connection("store.url", schemes: ["postgres", "postgresql"], "Where it is.")
        for text in ["postgres://a:b@db/x", "PostgreSQL:///x", "host=db password=a://b", "postgres://a@b:1,c:2/x"] {
            #expect(try Configuration(keys: [key.description], fileValues: ["store.url": text])[key] == text)
        }
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration(
                keys: [key.description], fileValues: [:], environment: ["PARTITA_STORE_URL": "mysql://a:secret@db/x"])
        }
        let said = "\(try #require(error))"
        #expect(said.contains("must be a URL that begins with postgres://, postgresql://") && !said.contains("secret@"))
        #expect(said.contains("PARTITA_STORE_URL"))
    }
}

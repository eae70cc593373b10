import AppRegistry
import DocumentModel
import Postgres
import Secrets
import ServiceBootstrap
import TestSupport
import Testing
import TriggerWorkers

/// Secrets of apps: on their way to functions, and where they are stored.
@Suite struct SecretTests {
    private static let functions = [
        "get":
            "exports = name => { try { return context.values.get(name) } catch (error) { return 'error: ' + error.message } }"
    ]

    private func deployed(_ app: TriggerApp, _ fixture: TriggersFixture) async throws -> String {
        try await fixture.deploy(app)
        return try await eventually("the signing key is known") {
            let token = try fixture.token(app)
            return try await fixture.call("known", app: app.id, token: token).status == 200 ? token : nil
        }
    }

    @Test func `a value from a secret reaches functions, and changes with it, without a deployment`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions, secretValues: ["apiKey": "theSecret"])
        let token = try await deployed(app, fixture)
        func value() async throws -> String? {
            try ExtendedJSON.parse(try await fixture.call("get", "[\"apiKey\"]", app: app.id, token: token).text)
                .stringValue
        }
        let unset = try await value()
        #expect(unset == "error: the value 'apiKey' is the secret 'theSecret', which isn't set")
        for secret in ["first \"ü\"", "second"] {
            try await fixture.registry.setSecret("theSecret", of: app.id, to: secret)
            try await eventually("functions get the secret") { try await value() == secret }
        }
        #expect(try await fixture.registry.load(app.id)?.version == 1)
        try await fixture.registry.removeSecret("theSecret", of: app.id)
        try await eventually("functions don't get it any more") { try await value()?.hasPrefix("error: ") == true }
    }

    @Test func `Postgres has no secret in plain text, and former plain text is encrypted`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(secretValues: ["a": "a"])
        try await fixture.deploy(app)
        try await fixture.registry.setSecret("a", of: app.id, to: "a word in clear")
        func stored(_ name: String) async throws -> String {
            try #require(
                try await fixture.postgres.query(
                    "select value from partita.app_secrets where app = $1 and name = $2", [.text(app.id), .text(name)]
                ).decode(String.self).first)
        }
        #expect(try await !stored("a").contains("a word in clear"))
        // As earlier versions stored it, and with a key that has been replaced.
        let former = try KeyRing([TriggersFixture.formerKeySecret]).seal("former")
        for (name, text) in [("plain", "a word in clear"), ("former", former)] {
            try await fixture.postgres.execute(
                "insert into partita.app_secrets (app, name, value) values ($1, $2, $3)",
                [.text(app.id), .text(name), .text(text)])
        }
        try await fixture.registry.resealSecrets()
        for name in ["plain", "former"] {
            #expect(KeyRing([TriggersFixture.keySecret]).isCurrent(try await stored(name)))
        }
        let secrets = try await fixture.registry.secrets(of: app.id)
        #expect(secrets["plain"] == "a word in clear")
        #expect(secrets["former"] == "former")
        #expect(!"\(secrets)".contains("clear"))
    }

    @Test func `no secret is stored without a key`() async throws {
        let fixture = try await TriggersFixture.shared()
        let error = await #expect(throws: AppRegistryError.self) {
            try await AppRegistry(client: fixture.postgres).setSecret("a", of: "none", to: "b")
        }
        #expect(error?.code == .encryptionKeyMissing)
    }

    @Test func `a service whose keys don't open the apps' secrets refuses to start, and says what to do`() async throws
    {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(secretValues: ["a": "a"])
        try await fixture.deploy(app)
        try await fixture.registry.setSecret("a", of: app.id, to: "b")
        for keys in ["", "another secret than the right one"] {
            var values = fixture.values
            values["encryption.keys"] = keys
            let configuration = try Configuration(keys: TriggerWorkersServer.main.allKeys, fileValues: values)
            let failure = await #expect(throws: StartFailure.self) {
                try await TriggerWorkersServer.main.run(configuration) { try TriggerWorkersServer.make(&$0) }
            }
            #expect(failure?.status == .configuration)
            #expect(failure?.message.contains("encryption.keys") == true, "\(failure?.message ?? "")")
        }
        for short in ["short", "a secret of the right length,short"] {
            var values = fixture.values
            values["encryption.keys"] = short
            #expect(throws: ConfigurationError.self) {
                _ = try Configuration(keys: TriggerWorkersServer.main.allKeys, fileValues: values)
            }
        }
    }
}

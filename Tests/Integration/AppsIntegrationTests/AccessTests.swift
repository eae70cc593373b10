import AppDefinition
import AppDeployment
import DocumentModel
import DocumentStore
import Postgres
import Testing

/// Who has access, and why, as the tool says it.
struct AccessTests {
    @Test func `a comparison says who gains and loses documents by data rules`() async throws {
        try await DeploymentWorld.with { world in
            func files(_ read: String, _ write: String, _ more: [String: String] = [:]) -> AppFiles {
                DeploymentWorld.files(
                    more: [
                        "data_sources/mongodb-atlas/d/c/rules.json": """
                        {"database": "d", "collection": "c", "roles": [
                          {"name": "all", "apply_when": {}, "document_filters": {"read": \(read), "write": \(write)},
                           "read": true, "write": true, "insert": true, "delete": true, "search": true}]}
                        """
                    ].merging(more) { $1 })
            }
            let owner = #"{"team": "%%user.id"}"#
            let first = files(owner, owner)
            _ = try await world.deployments.deploy(first)
            let collection = try world.store(first).collection("c", database: "d", app: "life")
            for (id, team) in [("1", "ann"), ("2", "ann"), ("3", "bea")] {
                _ = try await collection.insertOne(["_id": .string(id), "team": .string(team)])
            }
            // Nobody is known before auth's tables are there.
            #expect(try await world.deployments.difference(first).dataAccess == nil)
            let unknown = try await world.deployments.difference(files("true", owner)).dataAccess
            #expect(unknown?.evaluated == 0 && unknown?.lines.count == 1)
            try await Self.addUsers(to: world)
            let wider = try #require(try await world.deployments.difference(files("true", owner)).dataAccess)
            #expect((wider.pairs, wider.evaluated, wider.losses, wider.gains) == (6, 6, 0, 3), "\(wider.lines)")
            #expect(
                wider.examples.contains {
                    $0.user == "bea" && $0.subject.text.hasSuffix(" s:1") && $0.before == .none && $0.after == .read
                })
            let narrower = try #require(try await world.deployments.difference(files(owner, "false")).dataAccess)
            #expect((narrower.losses, narrower.gains) == (3, 0), "\(narrower.lines)")
            #expect(narrower.examples.allSatisfy { $0.before == .write && $0.after == .read })
            #expect(narrower.lines.first == "data access of 6 pairs of a user and a document: 3 lose, 0 gain")
            let byFunction = files(
                #"{"%%true": {"%function": {"name": "mine", "arguments": ["%%root.team"]}}}"#, "false",
                [
                    "functions/config.json": #"[{"name": "mine", "private": true}]"#,
                    "functions/mine.js": "exports = team => team === context.user.id && team !== 'bea';",
                ])
            let functions = try #require(try await world.deployments.difference(byFunction).dataAccess)
            #expect(functions.losses == 3 && functions.failed == 0, "\(functions.lines)")
            #expect(functions.examples.contains { $0.user == "bea" && $0.after == .none })
            // A function that fails without its secret says nothing about who has access.
            let bySecret = files(
                #"{"%%true": {"%function": {"name": "mine", "arguments": []}}}"#, "false",
                [
                    "functions/config.json": #"[{"name": "mine", "private": true}]"#,
                    "functions/mine.js":
                        "exports = () => { if (context.values.get('s') !== 'x') throw new Error('no'); return true; };",
                    "values/s.json": #"{"name": "s", "value": "secret", "from_secret": true}"#,
                ])
            let untold = try #require(try await world.deployments.difference(bySecret).dataAccess)
            #expect((untold.untold, untold.losses, untold.failed) == (6, 0, 0), "\(untold.lines)")
            #expect(untold.lines.first?.contains("of 6 it is unknown") == true)
        }
    }

    /// The users ann and bea, as auth has them.
    private static func addUsers(to world: DeploymentWorld) async throws {
        try await world.client.withConnection { connection in
            try await connection.runScript(
                """
                create table partita.auth_users (app text, id text, type text, data json, is_pending boolean,
                    last_sign_in bigint);
                create table partita.auth_identities (app text, provider text, id text, user_id text,
                    created_at bigint);
                insert into partita.auth_users values ('life', 'ann', 'normal', '{}', false, 2),
                    ('life', 'bea', 'normal', '{}', false, 1), ('other', 'cleo', 'normal', '{}', false, 1);
                """)
        }
    }

    @Test func `a comparison evaluates collections that are new, removed or not declared`() async throws {
        try await DeploymentWorld.with { world in
            func roles(_ read: String) -> String {
                """
                "roles": [{"name": "all", "apply_when": {}, "document_filters": {"read": \(read), "write": false},
                  "read": true, "write": true, "insert": true, "delete": true, "search": true}]
                """
            }
            /// - Parameters:
            ///   - fallback: whether the default roles let everybody read.
            ///   - own: whether the collection `e` is declared, with roles that let nobody read.
            func files(fallback: Bool, own: Bool) -> AppFiles {
                var more: [String: String] = [:]
                if fallback { more["data_sources/mongodb-atlas/default_rule.json"] = "{\(roles("true"))}" }
                if own {
                    more["data_sources/mongodb-atlas/o/e/rules.json"] =
                        #"{"database": "o", "collection": "e", \#(roles("false"))}"#
                }
                return DeploymentWorld.files(more: more)
            }
            func difference(_ files: AppFiles) async throws -> AccessDifference {
                try #require(try await world.deployments.difference(files).dataAccess)
            }
            let neither = files(fallback: false, own: false)
            _ = try await world.deployments.deploy(neither)
            let store = try world.store(neither)
            for name in ["e", "loose"] {
                let collection = store.collection(name, database: "o", app: "life")
                _ = try await collection.insertOne(["_id": .string(name), "team": "t"])
            }
            try await Self.addUsers(to: world)
            let undeclared = try await difference(files(fallback: true, own: false))
            #expect((undeclared.pairs, undeclared.losses, undeclared.gains) == (4, 0, 4), "\(undeclared.lines)")
            let declared = try await difference(files(fallback: true, own: true))
            #expect((declared.pairs, declared.losses, declared.gains) == (4, 0, 2), "\(declared.lines)")
            #expect(declared.examples.allSatisfy { $0.subject.text.hasPrefix("o.loose ") })
            _ = try await world.deployments.deploy(files(fallback: true, own: true))
            let removed = try await difference(files(fallback: true, own: false))
            #expect((removed.losses, removed.gains) == (0, 2), "\(removed.lines)")
            #expect(removed.examples.allSatisfy { $0.subject.text.hasPrefix("o.e ") })
            _ = try await world.deployments.deploy(files(fallback: true, own: false))
            let new = try await difference(files(fallback: true, own: true))
            #expect((new.losses, new.gains) == (2, 0), "\(new.lines)")
        }
    }

    @Test func `rules are compared when only what they use differs`() async throws {
        try await DeploymentWorld.with { world in
            let function = #"{"%%true": {"%function": {"name": "may", "arguments": []}}}"#
            func files(
                environment: String = "testing", userData: String = "people", package: String = "1"
            ) throws -> AppFiles {
                var files = DeploymentWorld.files(
                    more: [
                        "realm_config.json": """
                        {"config_version": 20210101, "app_id": "life", "name": "life", "environment": "\(environment)",
                         "custom_user_data_config": {"enabled": true, "mongo_service_name": "mongodb-atlas",
                          "database_name": "d", "collection_name": "\(userData)", "user_id_field": "user"}}
                        """,
                        "sync/config.json": """
                        {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                         "partition": {"key": "team", "type": "string",
                           "permissions": {"read": \(function), "write": false}}}
                        """,
                        "data_sources/mongodb-atlas/d/c/rules.json": """
                        {"database": "d", "collection": "c",
                         "roles": [{"name": "all", "apply_when": \(function), "read": true}]}
                        """,
                        "functions/config.json": #"[{"name": "may", "private": true}]"#,
                        "functions/may.js": "exports = () => require('a') === 1;",
                    ])
                var collector = PackageCollector()
                try collector.add("a/index.js", Array("module.exports = \(package)".utf8))
                files.packages = collector.packages
                return files
            }
            _ = try await world.deployments.deploy(try files())
            let same = try await world.deployments.difference(try files())
            #expect(same.access == nil && same.dataAccess == nil)
            for changed in [
                try files(environment: "production"), try files(userData: "others"), try files(package: "2"),
            ] {
                let difference = try await world.deployments.difference(changed)
                #expect(difference.access != nil && difference.dataAccess != nil, "\(difference.files)")
            }
        }
    }

    @Test func `an explanation says that a grant is of former rules or secrets`() async throws {
        try await DeploymentWorld.with { world in
            let outcome = try await world.deployments.deploy(DeploymentWorld.files())
            let version = try #require(outcome.app?.version)
            func explained(rules: Int64?, secrets: Int64) async throws -> [String] {
                try await world.client.execute(
                    """
                    insert into partita.grants (app, partition, user_id, access, epoch, version, rules, secrets)
                    values ('life', 's:a', 'ann', 'write', 1, 1, $1, $2)
                    on conflict (app, partition, user_id) do update set rules = $1, secrets = $2
                    """, [PostgresValue(rules), .int(secrets)])
                return try await world.deployments.explain("life", user: "ann", partition: "s:a").lines
            }
            let secrets = try await world.client.query("select secrets_version from partita.apps where id = 'life'")
                .decode(Int64.self)[0]
            let present = try await explained(rules: version, secrets: secrets)
            #expect(
                present.contains { $0.hasPrefix("grant: write") } && !present.contains { $0.contains("background") })
            let former = try await explained(rules: version - 1, secrets: secrets)
            #expect(former.contains { $0.contains("decided by version \(version - 1) of the app") }, "\(former)")
            let secret = try await explained(rules: version, secrets: secrets + 1)
            #expect(secret.contains { $0.contains("a secret was changed since") }, "\(secret)")
        }
    }
}

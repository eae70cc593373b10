import ChildProcesses
import DocumentModel
import Foundation
import RealmSync
import RealmTestClient
import TestSupport
import Testing

extension EndToEnd {
    /// An app in development mode gets the classes of its Realm clients.
    struct DevelopmentModeTests {
        private static func files(_ app: String) -> [String: String] {
            [
                "realm_config.json": #"{"config_version": 20210101, "app_id": "\#(app)", "name": "\#(app)"}"#,
                "auth/providers.json": """
                {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "disabled": false,
                  "config": {"autoConfirm": true}}}
                """,
                "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
                "sync/config.json": #"""
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                 "development_mode_enabled": true,
                 "partition": {"key": "_partition", "type": "string", "required": true,
                  "permissions": {"read": true, "write": {"%%partition": "%%user.id"}}}}
                """#,
            ]
        }

        private static func schema(_ properties: [ExactText: ObjectSchema.Property]) -> ObjectSchema {
            var schema = ObjectSchema()
            schema.classes["Note"] = .init(key: .init(name: "_id", type: .string, isNullable: false))
            schema.classes["Note"]?.properties = properties
            return schema
        }

        /// Deploys an app to which a client brings a class.
        static func develop(_ app: String, on system: RunningSystem) async throws {
            _ = try await TestApp.deploy(app, files(app), on: system)
            let person = try await RealmPerson.register("ann", on: system, app: app)
            let phone = try await person.open(person.id)
            try phone.apply(schema(["text": text]).changeset())
            try await person.upload(phone)
            phone.cut()
        }

        private static let text = ObjectSchema.Property(type: .string, isNullable: true)
        private let note = ObjectKey(table: "Note", id: .string("n"))

        @Test func `what clients have is added, and exported`() async throws {
            let system = try await RunningSystem.shared()
            let app = "developing-\(UUID().uuidString.prefix(8).lowercased())"
            let report = try await TestApp.deploy(app, Self.files(app), on: system)
            #expect(report.contains("warning development-mode"))
            let ann = try await RealmPerson.register("ann", on: system, app: app)
            let partition = ann.id

            // An app without any schema: the first client brings it.
            let phone = try await ann.open(partition)
            try phone.apply(Self.schema(["text": Self.text]).changeset())
            try phone.write((note, ["text": "first"]))
            try await ann.upload(phone)
            let store = #"select body::text from "\#(app)/d"."Note""#
            let row = try ExtendedJSON.parseDocument(try await system.query(store).decode(String.self)[0])
            #expect(row == ["_id": "n", "_partition": .string(partition), "text": "first"])

            // A version of the app with one property more, on many devices at the same time: one deployment.
            let before = try await versions(of: app, on: system)
            var more = Self.schema(["text": Self.text, "stars": .init(type: .int, isNullable: true)])
            more.classes["Tag"] = .init(key: .init(name: "_id", type: .objectId, isNullable: false))
            more.classes["Tag"]?.properties["note"] = .init(type: .link, isNullable: true, target: "Note")
            let tablets = try await Self.opened(10, by: ann)
            for (number, tablet) in tablets.enumerated() {
                try tablet.apply(more.changeset())
                let tag = ObjectKey(table: "Tag", id: .objectId(ObjectId()))
                try tablet.write((tag, ["note": "n"]))
                let other = ObjectKey(table: "Note", id: .string(ExactText("n\(number)")))
                try tablet.write((other, ["stars": .int64(Int64(number))]))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for tablet in tablets { group.addTask { try await ann.upload(tablet) } }
                try await group.waitForAll()
            }
            #expect(try await versions(of: app, on: system) == before + 1)
            try await phone.receive { $0.objects.objects.keys.count { $0.table == "Tag" } == 10 }
            try await phone.receive { $0.objects.objects.keys.count { $0.table == "Note" } == 11 }
            for client in tablets { #expect(client.errors.allSatisfy { $0.json["action"] == "Transient" }) }

            // Everything is in the app, and in what is exported.
            let folder = "\(system.directory)/\(app)-exported"
            let export = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "export", app, folder, "--data", system.directory])
            #expect(export.status.isSuccess, "\(export.output)")
            let exported = try String(
                contentsOfFile: "\(folder)/data_sources/mongodb-atlas/d/Note/schema.json", encoding: .utf8)
            #expect(exported.contains("\"stars\""))
            let history = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "history", app, "--data", system.directory])
            #expect(
                history.output.contains("development mode, user \(ann.id): property Note.stars, class Tag"),
                "\(history.output)")
            for client in tablets + [phone] { client.cut() }
        }

        @Test func `a client adds what it has, and not what others had`() async throws {
            let system = try await RunningSystem.shared()
            let app = "undone-\(UUID().uuidString.prefix(8).lowercased())"
            _ = try await TestApp.deploy(app, Self.files(app), on: system)
            let ann = try await RealmPerson.register("ann", on: system, app: app)
            func bring(_ name: String) async throws {
                var schema = ObjectSchema()
                schema.classes[ExactText(name)] = .init(key: .init(name: "_id", type: .string, isNullable: false))
                schema.classes[ExactText(name)]?.properties["text"] = Self.text
                let client = try await ann.open(ann.id)
                try client.apply(schema.changeset())
                try await ann.upload(client)
                client.cut()
            }
            func classes() async throws -> [String] {
                try await system.query(
                    """
                    select distinct split_part(f.key, '/', 4) from partita.app_versions v
                    join partita.apps a on a.id = v.app and a.version = v.version,
                    jsonb_each(v.definition::jsonb -> 'files') f
                    where v.app = '\(app)' and f.key like 'data_sources/%/schema.json' order by 1
                    """
                ).decode(String.self)
            }
            try await bring("Gone")
            #expect(try await classes() == ["Gone"])
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "rollback", app, "--data", system.directory])
            #expect(run.status.isSuccess, "\(run.output)")
            try await bring("Kept")
            #expect(try await classes() == ["Kept"])
            // Who brings it again gets it again.
            try await bring("Gone")
            #expect(try await classes() == ["Gone", "Kept"])
        }

        @Test func `what can't be added is refused by name`() async throws {
            let system = try await RunningSystem.shared()
            let app = "refusing-\(UUID().uuidString.prefix(8).lowercased())"
            _ = try await TestApp.deploy(app, Self.files(app), on: system)
            // A later epoch of the database, as after a restore: partitions that nobody has written belong to none.
            let anew = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                ["partition", "serve-anew", "--app", app, "--data", system.directory])
            #expect(anew.status.isSuccess, "\(anew.output)")
            let ann = try await RealmPerson.register("ann", on: system, app: app)
            let bob = try await RealmPerson.register("bob", on: system, app: app)
            // The gateway ends all sessions when it finds the epoch, which may be in the middle of this one.
            try await eventually("a client uploads in the new epoch", within: patience) {
                do {
                    let phone = try await ann.open(ann.id)
                    defer { phone.cut() }
                    try phone.apply(Self.schema(["text": Self.text]).changeset())
                    try phone.write((note, ["text": "first"]))
                    try await ann.upload(phone)
                    return true
                } catch {
                    return false
                }
            }

            // Documents lack what would be required.
            let required = Self.schema(["text": Self.text, "stars": .init(type: .int, isNullable: false)])
            #expect(try await refusal(of: required, ann, ann.id).contains("make the property optional"))
            // A user who may only read.
            let other = Self.schema(["text": Self.text, "mood": Self.text])
            #expect(try await refusal(of: other, bob, ann.id).contains("only a user who may write can add it"))
            // A collection of the server.
            let server = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                [
                    "documents", "insert", "d.Secret", #"{"_id": "s"}"#, "--app", app, "--data", system.directory,
                ])
            #expect(server.status.isSuccess, "\(server.output)")
            var secret = ObjectSchema()
            secret.classes["Secret"] = .init(key: .init(name: "_id", type: .string, isNullable: false))
            secret.classes["Secret"]?.properties["text"] = Self.text
            #expect(try await refusal(of: secret, ann, ann.id).contains("there are documents of Secret"))
            // Development is over.
            try await endDevelopment(of: app, on: system)
            #expect(try await refusal(of: other, ann, ann.id) == "the app's schema has no property Note.mood")
        }

        /// As a team does it: with the schemas that its clients have brought.
        private func endDevelopment(of app: String, on system: RunningSystem) async throws {
            let folder = "\(system.directory)/\(app)-exported"
            for words in [["export", app, folder], ["deploy", folder]] {
                if words[0] == "deploy" {
                    let sync = "\(folder)/sync/config.json"
                    let text = try String(contentsOfFile: sync, encoding: .utf8)
                    try text.replacing(#"enabled": true"#, with: #"enabled": false"#).write(
                        toFile: sync, atomically: true, encoding: .utf8)
                }
                let run = try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"), ["app"] + words + ["--data", system.directory])
                guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
            }
        }

        /// What a client with other classes is told in the end.
        private func refusal(of schema: ObjectSchema, _ person: RealmPerson, _ partition: String) async throws -> String
        {
            // The gateway may only now find the epoch, and end the session.
            try await eventually("there is an answer", within: patience) { () -> String? in
                do {
                    let client = try await person.open(partition)
                    defer { client.cut() }
                    try client.apply(schema.changeset())
                    client.sendPending()
                    try await client.receive { !$0.errors.isEmpty || $0.pending.isEmpty }
                    #expect(client.errors.first?.numbers.first == 225)
                    return client.errors.first?.json["message"]?.stringValue ?? ""
                } catch {
                    return nil
                }
            }
        }

        private func versions(of app: String, on system: RunningSystem) async throws -> Int64 {
            try await system.query("select max(version) from partita.app_versions where app = '\(app)'")
                .decode(Int64.self)[0]
        }

        private static func opened(_ count: Int, by person: RealmPerson) async throws -> [RealmClient] {
            var clients: [RealmClient] = []
            for _ in 0..<count { clients.append(try await person.open(person.id)) }
            return clients
        }
    }
}

import AppDefinition
import DocumentModel
import Testing

extension OddApps {
    private static let file = "sync/config.json"
    private static let off: @Sendable (AppDefinition) -> Void = { #expect($0.sync == nil) }

    private static func service(_ sync: String) -> String {
        #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "C", "sync": \#(sync)}}"#
    }

    /// Partition-based sync.
    static let sync: [OddApp] = [
        OddApp("partition-based sync", TinyApp.newer, [file: TinyApp.sync()]) { app in
            #expect(app.sync?.database == "Db" && app.sync?.isEnabled == true)
            #expect(app.syncVerdict(of: app.collections[0]) == .synced)
        },
        OddApp(
            "what the Realm SDKs can't have", TinyApp.newer,
            [
                file: TinyApp.sync(),
                "data_sources/mongodb-atlas/Db/Task/schema.json": """
                {
                  "title": "Task", "bsonType": "object", "required": ["_id"],
                  "properties": {"_id": {"bsonType": "objectId"}, "_partition": {"bsonType": "string"},
                    "code": {"bsonType": "regex"},
                    "steps": {"bsonType": "array", "items": {"bsonType": "object", "title": "Step", "properties": {
                      "done": {"bsonType": "bool"},
                      "matrix": {"bsonType": "array", "items": {"bsonType": "array"}}}}}}
                }
                """,
                "data_sources/mongodb-atlas/Db/Note/schema.json": """
                {"title": "Note", "bsonType": "object", "properties": {"_partition": {"bsonType": "string"}}}
                """,
            ],
            report: [
                "data_sources/mongodb-atlas/Db/Note/schema.json:1 warning realm-class-unfit",
                "data_sources/mongodb-atlas/Db/Task/schema.json:4 warning realm-class-unfit",
                "data_sources/mongodb-atlas/Db/Task/schema.json:7 warning realm-class-unfit",
            ],
            says: [
                "don't get the collection Note: the schema has no property _id",
                "don't get Task.code: the Realm SDKs have no type regex",
                "don't get Task.steps.matrix: the Realm SDKs have no type array",
            ]
        ) { app in
            #expect(app.syncedClasses.schema.classes["Step"]?.properties.keys.sorted() == ["done"])
            #expect(app.syncedClasses.classes == ["Task": "Task"])
        },
        OddApp(
            "development mode", TinyApp.newer, [file: TinyApp.sync("\n\"development_mode_enabled\": true,")],
            report: ["sync/config.json:2 warning development-mode"], says: ["turn it off before the app is in use"]
        ) { app in #expect(app.sync?.isInDevelopment == true) },
        OddApp(
            "clients that are away, and don't recover", TinyApp.newer,
            [file: TinyApp.sync(#""client_max_offline_days": 90, "is_recovery_mode_disabled": true,"#)]
        ) { app in #expect(app.sync?.maximumOfflineDays == 90 && app.sync?.isRecoveryDisabled == true) },
        OddApp(
            "clients that are away for ever", TinyApp.newer,
            [file: TinyApp.sync("\n\"client_max_offline_days\": 100000,")],
            report: ["sync/config.json:2 error field-value"]),
        OddApp("development mode alone", TinyApp.newer, [file: #"{"development_mode_enabled": false}"#], check: off),
        OddApp(
            "a blank configuration", TinyApp.newer,
            [file: #"{"state": "", "partition": {"key": "", "type": "", "permissions": {}}}"#], check: off),
        OddApp("a blank state alone", TinyApp.newer, [file: #"{"state": "", "partition": {}}"#], check: off),
        OddApp(
            "an empty key, although enabled", TinyApp.newer,
            [file: #"{"state": "enabled", "database_name": "Db", "partition": {"key": "", "permissions": {}}}"#],
            report: ["sync/config.json:1 warning field-value"], check: off),
        OddApp("disabled without a key", TinyApp.newer, [file: #"{"state": "disabled"}"#], check: off),
        OddApp(
            "enabled without a key", TinyApp.newer, [file: #"{"state": "enabled", "database_name": "Db"}"#],
            report: ["sync/config.json:1 error partition-key-missing"]),
        OddApp(
            "a blank type and an unknown field", TinyApp.newer,
            [file: TinyApp.sync(#""type": "partition", "is_recovery_mode_disabled": true,"#)]
        ) { app in #expect(app.sync?.partitionType == .string) },
        OddApp(
            "sync in the older service, beside a line at the root", TinyApp.older,
            [
                "services/mongodb-atlas/config.json": service(TinyApp.sync())
            ]
        ) { app in #expect(app.sync?.partitionKey == "_partition" && app.sync?.service == "mongodb-atlas") },
        OddApp(
            "sync in a service of another name", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/config.json": service(TinyApp.sync()).replacing(
                    "\"name\": \"mongodb-atlas\"", with: "\"name\": \"main\"")
            ]
        ) { app in #expect(app.sync?.service == "main" && app.collections[0].service == "main") },
        OddApp(
            "sync in two places", TinyApp.newer,
            [file: TinyApp.sync(), "data_sources/mongodb-atlas/config.json": service(TinyApp.sync())],
            report: ["data_sources/mongodb-atlas/config.json:1 warning part-shadowed"]),
        OddApp(
            "no database_name", TinyApp.newer, [file: TinyApp.sync(database: nil)],
            report: ["sync/config.json:1 warning field-missing"], says: ["Db is synced"]
        ) { app in #expect(app.sync?.database == "Db") },
        OddApp(
            "no database_name, and one of two databases has the key", TinyApp.newer,
            [
                file: TinyApp.sync(database: nil),
                "data_sources/mongodb-atlas/Logs/Line/schema.json": #"{"title": "Line", "properties": {"a": {}}}"#,
            ],
            report: ["sync/config.json:1 warning field-missing"]
        ) { app in #expect(app.sync?.database == "Db") },
        OddApp(
            "no database_name, and two databases have the key", TinyApp.newer,
            [file: TinyApp.sync(database: nil), "data_sources/mongodb-atlas/Two/Task/schema.json": TinyApp.schema],
            report: ["sync/config.json:1 error field-missing"], says: ["Db, Two"]),
        OddApp(
            "no database_name and no schema", TinyApp.older,
            [
                "services/mongodb-atlas/rules/Db.Task.json": nil,
                "services/mongodb-atlas/config.json": service(TinyApp.sync(database: nil)),
            ],
            report: ["services/mongodb-atlas/config.json:1 error field-missing"]),
        OddApp(
            "a key that isn't required", TinyApp.newer,
            [
                file: TinyApp.sync().replacing(
                    "\"type\": \"string\",", with: "\"type\": \"string\", \"required\": false,")
            ]
        ) { app in #expect(app.sync?.hasNullPartition == true && app.sync?.admits(.null) == true) },
        OddApp(
            "a key of which null says whether it is required", TinyApp.newer,
            [
                file: TinyApp.sync().replacing(
                    "\"type\": \"string\",", with: "\"type\": \"string\", \"required\": null,")
            ]
        ) { app in #expect(app.sync?.hasNullPartition == false) },
        OddApp(
            "a key of which it isn't said whether it is required", TinyApp.newer, [file: TinyApp.sync()]
        ) { app in #expect(app.sync?.hasNullPartition == false && app.sync?.admits(.null) == false) },
        OddApp(
            "a key that is required by a word", TinyApp.newer,
            [
                file: TinyApp.sync().replacing(
                    "\"type\": \"string\",", with: "\"type\": \"string\", \"required\": \"no\",")
            ],
            report: ["sync/config.json:2 error field-value"], says: ["true or false"]),
        OddApp(
            "--sync-by where sync is partition-based", TinyApp.newer, [file: TinyApp.sync()],
            choices: DeploymentChoices(syncBy: "owner_id"), report: ["sync/config.json:1 error sync-by-invalid"]),
        OddApp(
            "--sync-by where nothing syncs", choices: DeploymentChoices(syncBy: "owner_id"),
            report: [". error sync-by-invalid"]),
    ]

    private static let owner =
        #"{"rules": {}, "defaultRoles": [{"name": "o", "applyWhen": {}, "#
        + #""read": {"owner_id": "%%user.id"}, "write": {"owner_id": "%%user.id"}}]}"#
    private static let byOwner = DeploymentChoices(syncBy: "owner_id")
    private static let warned = ["sync/config.json:1 warning sync-type-unsupported"]
    private static let translated = ["sync/config.json:1 warning sync-translated"]
    private static let refused = ["sync/config.json:1 error sync-by-invalid"]

    private static func roles(_ read: String, _ write: String, when: String = "{}") -> String {
        #"{"defaultRoles": [{"name": "r", "applyWhen": \#(when), "read": \#(read), "write": \#(write)}]}"#
    }

    /// Flexible sync, with each shape of permissions that exports have.
    static let flexible: [OddApp] = [
        OddApp(
            "flexible: the owner's documents", TinyApp.newer, [file: TinyApp.flexible(owner)], report: warned,
            says: ["--sync-by owner_id", #"read {"%%partition":"%%user.id"}"#, "collections: Task"], check: off),
        OddApp(
            "flexible: the owner's documents, which no device may insert", TinyApp.newer,
            [file: TinyApp.flexible(owner.replacing(#""read":"#, with: #""insert": false, "read":"#))],
            choices: byOwner,
            report: translated
        ) { app in
            #expect(app.sync?.read.source == ["%%partition": "%%user.id"] && app.sync?.write.source == false)
        },
        OddApp(
            "flexible: a role with a restriction that isn't known", TinyApp.newer,
            [file: TinyApp.flexible(owner.replacing(#""read":"#, with: #""fields": {"i": {"read": false}}, "read":"#))],
            choices: byOwner, report: refused),
        OddApp(
            "flexible: the owner's documents, taken", TinyApp.newer, [file: TinyApp.flexible(owner)], choices: byOwner,
            report: translated, says: ["by owner_id instead of flexible"]
        ) { app in
            let sync = try #require(app.sync)
            #expect(sync.partitionKey == "owner_id" && sync.partitionType == .string && sync.database == "Db")
            #expect(sync.read.source == ["%%partition": "%%user.id"] && sync.write.source == sync.read.source)
            #expect(app.syncVerdict(of: app.collections[0]) == .synced)
        },
        OddApp(
            "flexible: an admin by custom data", TinyApp.newer,
            [
                file: TinyApp.flexible(
                    """
                    {"rules": {"Task": [
                      {"name": "admin", "applyWhen": {"%%user.custom_data.role": "admin"}, "read": true, "write": true},
                      {"name": "o", "applyWhen": {"owner_id": "%%user.id"}, "read": true, "write": true}]}}
                    """)
            ], choices: byOwner, report: translated
        ) { app in
            #expect(
                app.sync?.read.source
                    == ["%or": [["%%user.custom_data.role": "admin"], ["%%partition": "%%user.id"]]])
        },
        OddApp(
            "flexible: a role that denies comes first", TinyApp.newer,
            [
                file: TinyApp.flexible(
                    """
                    {"defaultRoles": [
                      {"name": "banned", "applyWhen": {"%%user.custom_data.banned": true}, "read": false, "write": false},
                      {"name": "o", "applyWhen": {"owner_id": "%%user.id"}, "read": true, "write": true}]}
                    """)
            ], choices: byOwner, report: translated
        ) { app in
            #expect(
                app.sync?.read.source
                    == ["%and": [["%%partition": "%%user.id"], ["%not": ["%%user.custom_data.banned": true]]]])
        },
        OddApp(
            "flexible: all may read and write", TinyApp.newer, [file: TinyApp.flexible(roles("true", "true"))],
            report: warned, says: ["--sync-by _partition"], check: off),
        OddApp(
            "flexible: all may read and write, by a constant", TinyApp.newer,
            [file: TinyApp.flexible(roles("true", "true"))], choices: DeploymentChoices(syncBy: "_partition"),
            report: translated
        ) { app in #expect(app.sync?.read.source == true && app.sync?.write.source == true) },
        OddApp(
            "flexible: all read, the owner writes", TinyApp.newer,
            [file: TinyApp.flexible(roles("true", #"{"owner_id": "%%user.id"}"#))], choices: byOwner, report: translated
        ) { app in
            #expect(app.sync?.read.source == true && app.sync?.write.source == ["%%partition": "%%user.id"])
        },
        OddApp(
            "flexible: the rules of the collections decide", TinyApp.newer,
            [file: #"{"type": "flexible", "state": "enabled", "queryable_fields_names": ["owner_id"]}"#],
            choices: byOwner,
            report: ["sync/config.json:1 warning field-missing", "sync/config.json:1 warning sync-translated"]
        ) { app in #expect(app.sync?.write.source == ["%%partition": "%%user.id"]) },
        OddApp(
            "flexible: document filters decide", TinyApp.newer,
            [
                file: TinyApp.flexible("{}"),
                "data_sources/mongodb-atlas/Db/Task/rules.json": """
                {"roles": [{"name": "r", "apply_when": {}, "read": true, "write": true, "insert": true, "delete": false,
                  "document_filters": {"read": {"owner_id": "%%user.id"}, "write": {"owner_id": "%%user.id"}}}]}
                """,
            ], choices: byOwner, report: translated
        ) { app in
            #expect(app.sync?.read.source == ["%%partition": "%%user.id"] && app.sync?.write.source == false)
        },
        OddApp(
            "flexible: several readers of a document", TinyApp.newer,
            [file: TinyApp.flexible(roles(#"{"friends": "%%user.id"}"#, "true"))], report: warned,
            says: ["aren't those of one field"], check: off),
        OddApp(
            "flexible: a field that the roles don't depend on alone", TinyApp.newer,
            [file: TinyApp.flexible(roles(#"{"friends": "%%user.id"}"#, "true"))], choices: byOwner, report: refused,
            says: ["the roles of Task depend on other fields"]),
        OddApp(
            "flexible: a field that no schema has", TinyApp.newer, [file: TinyApp.flexible(owner)],
            choices: DeploymentChoices(syncBy: "team"), report: refused, says: ["no schema of the synced database"]),
        OddApp(
            "flexible: a field that is no partition", TinyApp.newer, [file: TinyApp.flexible(roles("true", "true"))],
            choices: DeploymentChoices(syncBy: "done"), report: refused, says: ["done isn't a string"]),
        OddApp(
            "flexible: a function that gets another field", TinyApp.newer,
            [
                file: TinyApp.flexible(
                    roles(#"{"%%true": {"%function": {"name": "greet", "arguments": ["%%root.done"]}}}"#, "true"))
            ], choices: byOwner, report: refused),
        OddApp(
            "flexible: another field inside of an embedded expression", TinyApp.newer,
            [file: TinyApp.flexible(roles(#"{"%%true": {"%not": {"done": true}}}"#, "true"))], choices: byOwner,
            report: refused),
        OddApp(
            "flexible: another field beside an expansion inside of a value", TinyApp.newer,
            [file: TinyApp.flexible(roles(#"{"%%false": {"%%user.id": "x", "done": true}}"#, "true"))],
            choices: byOwner, report: refused),
        OddApp(
            "flexible: a function that gets the key", TinyApp.newer,
            [
                file: TinyApp.flexible(
                    roles(#"{"%%true": {"%function": {"name": "greet", "arguments": ["%%root.owner_id"]}}}"#, "false"))
            ], choices: byOwner, report: translated
        ) { app in
            #expect(
                app.sync?.read.source
                    == ["%%true": ["%function": ["name": "greet", "arguments": ["%%partition"]]]])
        },
        OddApp(
            "flexible: a collection without the key", TinyApp.newer,
            [
                file: TinyApp.flexible(owner),
                "data_sources/mongodb-atlas/Db/Log/schema.json": #"{"title": "Log", "properties": {"a": {}}}"#,
            ], choices: byOwner, report: translated, says: ["not synced: Log"]),
        OddApp(
            "flexible, never enabled", TinyApp.newer,
            [file: #"{"type": "flexible", "state": "", "development_mode_enabled": true}"#], check: off),
        OddApp(
            "flexible, with data ingest", TinyApp.newer,
            [file: TinyApp.flexible(owner, #", "asymmetric_tables": ["Log"]"#)],
            report: [
                "sync/config.json:1 warning sync-type-unsupported", "sync/config.json:2 warning feature-not-served",
            ],
            says: ["data ingest"]),
    ]
}

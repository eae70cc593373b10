import AppDefinition
import DocumentModel
import Testing

extension OddApps {
    private static let rulesFile = "data_sources/mongodb-atlas/Db/Task/rules.json"
    private static let schemaFile = "data_sources/mongodb-atlas/Db/Task/schema.json"

    /// Rules, schemas and relationships.
    static let rules: [OddApp] = [
        OddApp(
            "a role without read and write", TinyApp.newer,
            [
                rulesFile: #"{"roles": [{"name": "r", "apply_when": {}, "insert": true, "additional_fields": {}}]}"#
            ]
        ) { app in #expect(app.collections[0].rules?.roles.map(\.name) == ["r"]) },
        OddApp("rules without roles", TinyApp.newer, [rulesFile: #"{"database": "Db", "collection": "Task"}"#]) { app in
            #expect(app.collections[0].rules?.roles.isEmpty == true)
            #expect(DocumentRules(of: .init(database: "Db", collection: "Task"), in: app) == nil)
        },
        OddApp(
            "an operator that is none", TinyApp.newer,
            [rulesFile: #"{"roles": [{"name": "r", "apply_when": {"!=": ["owner_id", "%%user.id"]}, "read": true}]}"#],
            report: ["\(rulesFile):1 warning rule-operator-unknown"], says: ["'!='", "%ne"]),
        OddApp(
            "filters that no query can have", TinyApp.newer,
            [
                rulesFile: """
                {"roles": [], "filters": [
                  {"query": {"$where": "1", "a": "%%user.id"}, "apply_when": {}},
                  {"query": {"$foo": 1}, "apply_when": {}},
                  {"query": {"a": {"$in": "%%user.custom_data.as"}, "%or": [{"b": 1}]}, "apply_when": {}}]}
                """
            ],
            report: ["\(rulesFile):2 warning match-invalid", "\(rulesFile):3 warning match-invalid"],
            says: ["$where is not supported", "$foo"]),
        OddApp(
            "a secret value that names no secret", TinyApp.newer,
            ["values/key.json": #"{"name": "key", "value": {"a": 1}, "from_secret": true}"#],
            report: ["values/key.json:1 warning field-value"], says: ["the name of a secret"]),
        OddApp("a schema that is empty", TinyApp.newer, [schemaFile: "{}"]) { app in
            #expect(app.collections[0].schema == nil)
        },
        OddApp(
            "schema types of other dialects", TinyApp.newer,
            [
                schemaFile: #"{"properties": {"a": {"bsonType": "boolean"}, "b": {"bsonType": "number"}}}"#
            ]
        ) { app in
            #expect(app.collections[0].schema?.types(at: ["a"]) == [.bool])
            #expect(app.collections[0].schema?.types(at: ["b"]) == [.number])
        },
        OddApp(
            "validate and a stray keyword in a schema", TinyApp.newer,
            [
                schemaFile: """
                {"properties": {"a": {"bsonType": "string", "validate": {"%%user.id": "x"}},
                  "b": {"bsonType": "int", "primary": true}}}
                """
            ],
            report: ["\(schemaFile):1 warning schema-invalid", "\(schemaFile):2 warning schema-invalid"],
            says: ["validate", "primary"]
        ) { app in
            #expect(app.collections[0].schema?.types(at: ["a"]) == [.string])
            #expect(app.collections[0].schema?.source["properties"]?["a"] == ["bsonType": "string"])
        },
        OddApp(
            "a schema with a type that doesn't exist", TinyApp.newer,
            [schemaFile: #"{"properties": {"a": {"bsonType": "text"}}}"#],
            report: ["\(schemaFile):1 error schema-type-unsupported"]),
        OddApp(
            "relationships", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/Db/Task/relationships.json":
                    ##"{"owner_id": {"ref": "#/relationship/mongodb-atlas/Db/Task", "foreign_key": "_id", "is_list": false}}"##
            ]
        ) { app in #expect(app.collections[0].relationships.map(\.collection) == ["Task"]) },
        OddApp(
            "empty relationships", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/Db/Task/relationships.json": "{}"
            ]),
        OddApp(
            "relationships alone", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/Db/Log/relationships.json": "{}"
            ]
        ) { app in #expect(app.collections.map(\.name) == ["Log", "Task"]) },
        OddApp(
            "runResetFunction is an empty string", TinyApp.newer,
            [
                "auth/providers.json": """
                {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "config": {"autoConfirm": true,
                  "runResetFunction": "", "resetPasswordUrl": "http://localhost/reset"}}}
                """
            ],
            report: ["auth/providers.json:2 warning field-type"], says: ["empty string"]
        ) { app in
            let settings = EmailPasswordSettings(try #require(app.authProvider("local-userpass")))
            #expect(settings.reset == .mail && settings.confirmation == .automatic)
        },
    ]

    /// Functions and packages.
    static let functions: [OddApp] = [
        OddApp(
            "a source that isn't listed", TinyApp.newer, ["functions/helper.js": "exports = () => 1;\n"],
            report: ["functions/helper.js:1 warning function-not-configured"], says: ["private"]
        ) { app in #expect(app.function("helper")?.isPrivate == true && app.function("helper")?.runsAsSystem == false)
        },
        OddApp(
            "a source that isn't listed and is no function", TinyApp.newer, ["functions/util.js": "const a = 1;\n"],
            report: ["functions/util.js:1 warning function-not-configured"], says: ["ignored"]
        ) { app in #expect(app.function("util") == nil) },
        OddApp(
            "a provider that names such a source", TinyApp.newer,
            [
                "functions/login.js": "exports = (p) => p.id;\n",
                "auth/providers.json": #"{"custom-function": {"name": "custom-function", "type": "custom-function", "#
                    + #""config": {"authFunctionName": "login"}}}"#,
            ],
            report: ["functions/login.js:1 warning function-not-configured"]),
        OddApp(
            "a provider without its function", TinyApp.newer,
            [
                "auth/providers.json": #"{"custom-function": {"name": "custom-function", "type": "custom-function", "#
                    + #""config": {}}}"#
            ],
            report: ["auth/providers.json:1 warning field-missing"], says: ["authFunctionName"]),
        OddApp(
            "an older function without configuration", TinyApp.older, ["functions/greet/config.json": nil],
            report: ["functions/greet/source.js:1 warning function-not-configured"]
        ) { app in #expect(app.function("greet")?.isPrivate == true) },
        OddApp(
            "a listed function without source", TinyApp.newer,
            [
                "functions/config.json": #"[{"name": "greet"}, {"name": "lost"}]"#,
                "triggers/t.json": TinyApp.trigger(
                    "SCHEDULED", #"{"schedule": "0 3 * * *"}"#, #""function_name": "lost""#),
            ],
            report: ["functions/config.json:1 warning function-source-missing"], says: ["each call of it fails"]
        ) { app in #expect(app.function("lost")?.source.contains("throw new Error(\"the function lost") == true) },
        OddApp(
            "an older function without source", TinyApp.older, ["functions/greet/source.js": nil],
            report: ["functions/greet/config.json:1 warning function-source-missing"]),
        OddApp(
            "names with a slash", TinyApp.newer,
            [
                "functions/config.json": #"[{"name": "greet"}, {"name": "chat/notify"}]"#,
                "functions/chat/notify.js": "exports = () => 1;\n",
                "triggers/t.json": TinyApp.trigger(
                    "SCHEDULED", #"{"schedule": "0 3 * * *"}"#, #""function_name": "chat/notify""#),
            ]
        ) { app in #expect(app.function("chat/notify") != nil && app.triggers.count == 1) },
        OddApp(
            "older names with a slash", TinyApp.older,
            [
                "functions/chat/notify/config.json": #"{"name": "chat/notify"}"#,
                "functions/chat/notify/source.js": "exports = () => 1;\n",
            ]
        ) { app in #expect(app.functions.map(\.name) == ["chat/notify", "greet"]) },
        OddApp(
            "the older form of a listed function", TinyApp.newer,
            [
                "functions/greet/config.json": #"{"name": "greet"}"#,
                "functions/greet/source.js": "exports = () => 'old';\n",
            ], report: ["functions/greet/config.json:1 warning part-shadowed"]
        ) { app in #expect(app.functions.map(\.source) == ["exports = () => 'hello';\n"]) },
        OddApp(
            "a service that isn't exported", TinyApp.newer,
            ["functions/greet.js": "// services.get('no')\nexports = () => context.services.get('twilio').send({});\n"],
            report: ["functions/greet.js:2 warning service-unknown"], says: ["twilio"]),
        OddApp(
            "a private key in a function", TinyApp.newer,
            ["functions/greet.js": "exports = () => `\n-----BEGIN RSA PRIVATE KEY-----\nMIIE`;\n"],
            report: ["functions/greet.js:2 warning secret-in-clear"]),
    ]

    /// Triggers.
    static let triggers: [OddApp] = [
        OddApp(
            "a trigger without a function", TinyApp.newer,
            ["triggers/t.json": TinyApp.trigger("SCHEDULED", #"{"schedule": "0 3 * * *"}"#, #""disabled": false"#)],
            report: ["triggers/t.json:1 warning function-missing"], says: ["stays disabled"]
        ) { app in #expect(app.triggers.map(\.isDisabled) == [true]) },
        OddApp(
            "a trigger on a whole database", TinyApp.newer,
            [
                "triggers/t.json": TinyApp.trigger(
                    "DATABASE",
                    #"{"database": "Db", "collection": "", "service_name": "mongodb-atlas", "operation_types": ["INSERT"]}"#
                )
            ]
        ) { app in
            guard case .database(let event)? = app.triggers.first?.event else { throw NotFound() }
            #expect(event.collection == nil)
        },
        OddApp(
            "an unknown operation beside a known one", TinyApp.newer,
            [
                "triggers/t.json": TinyApp.trigger(
                    "DATABASE",
                    #"{"database": "Db", "collection": "Task", "operation_types": ["INSERT", "CREATE_COLLECTION"]}"#)
            ],
            report: ["triggers/t.json:1 warning field-value"]
        ) { app in #expect(app.triggers.count == 1) },
        OddApp(
            "disabled, with operations that don't occur", TinyApp.newer,
            [
                "triggers/t.json": TinyApp.trigger(
                    "DATABASE", #"{"database": "Db", "collection": "Task", "operation_types": ["DROP_INDEXES"]}"#,
                    #""function_name": "greet", "disabled": true"#)
            ],
            report: ["triggers/t.json:1 warning field-value", "triggers/t.json:1 warning field-missing"]
        ) { app in #expect(app.triggers.isEmpty) },
        OddApp(
            "enabled, with operations that don't occur", TinyApp.newer,
            [
                "triggers/t.json": TinyApp.trigger(
                    "DATABASE", #"{"database": "Db", "collection": "Task", "operation_types": ["DROP_INDEXES"]}"#)
            ],
            report: ["triggers/t.json:1 warning field-value", "triggers/t.json:1 error field-missing"]),
        OddApp(
            "disabled, to EventBridge", TinyApp.newer,
            [
                "triggers/t.json": TinyApp.trigger(
                    "SCHEDULED", #"{"schedule": "0 3 * * *"}"#,
                    #""event_processors": {"AWS_EVENTBRIDGE": {"config": {}}}, "disabled": true"#)
            ],
            report: ["triggers/t.json:1 warning feature-not-served"]
        ) { app in #expect(app.triggers.isEmpty) },
        OddApp(
            "disabled, with a function that is gone", TinyApp.newer,
            [
                "triggers/t.json": TinyApp.trigger(
                    "SCHEDULED", #"{"schedule": "0 3 * * *"}"#, #""function_name": "gone", "disabled": true"#)
            ],
            report: ["triggers/t.json:1 warning function-unknown"]),
        OddApp(
            "disabled, of a kind that doesn't exist", TinyApp.newer,
            ["triggers/t.json": TinyApp.trigger("SOMETIMES", "{}", #""function_name": "greet", "disabled": true"#)],
            report: ["triggers/t.json:1 warning field-value"]),
    ]

    /// Parts that aren't served.
    static let unserved: [OddApp] = [
        OddApp(
            "an endpoint of a function that isn't there", TinyApp.newer,
            ["http_endpoints/config.json": #"[{"route": "/a", "http_method": "GET", "function_name": "gone"}]"#],
            report: ["http_endpoints/config.json:1 warning endpoint-not-served"], says: ["gone isn't in the export"]
        ) { app in #expect(app.endpoints(at: "/a").isEmpty) },
        OddApp(
            "a data API that runs as the system", TinyApp.newer,
            ["http_endpoints/data_api_config.json": #"{"disabled": false, "run_as_system": true}"#],
            report: ["http_endpoints/data_api_config.json:1 warning feature-not-served"], says: ["run as their caller"]
        ),
        OddApp(
            "a data API that runs as a user", TinyApp.newer,
            ["http_endpoints/data_api_config.json": #"{"disabled": false, "run_as_user_id": "u"}"#],
            report: ["http_endpoints/data_api_config.json:1 warning field-value"], says: ["sign in all the same"]),
        OddApp(
            "answers in a format that nobody has", TinyApp.newer,
            [
                "http_endpoints/data_api_config.json": #"{"disabled": false, "return_type": "XML"}"#,
                "http_endpoints/config.json":
                    #"[{"route": "/a", "http_method": "GET", "function_name": "greet", "return_type": "XML"}]"#,
            ],
            report: [
                "http_endpoints/config.json:1 warning field-value",
                "http_endpoints/data_api_config.json:1 warning field-value",
            ], says: ["neither JSON nor EJSON"]),
        OddApp(
            "a data lake", TinyApp.newer,
            ["data_sources/lake/config.json": #"{"name": "lake", "type": "datalake", "config": {}}"#],
            report: ["data_sources/lake/config.json:1 warning feature-not-served"], says: ["datalake isn't served"]),
        OddApp(
            "the endpoints' other name", TinyApp.newer,
            ["https_endpoints/config.json": #"[{"route": "/a", "http_method": "GET", "function_name": "greet"}]"#]
        ) { app in #expect(app.endpoints(at: "/a").map(\.functionName) == ["greet"]) },
        OddApp(
            "package.json alone", TinyApp.newer,
            ["functions/package.json": #"{"dependencies": {"lodash": "4.17.21"}}"#],
            report: ["functions/package.json:1 warning feature-not-served"], says: ["lodash"]),
        OddApp(
            "a webhook with its secret", TinyApp.newer,
            [
                "services/web/config.json": #"{"name": "web", "type": "http", "config": {}}"#,
                "services/web/incoming_webhooks/hook/config.json":
                    #"{"name": "hook", "options": {"httpMethod": "POST", "secret": "hunter2"}}"#,
            ],
            report: [
                "services/web/incoming_webhooks/hook/config.json:1 warning endpoint-not-served",
                "services/web/incoming_webhooks/hook/config.json:1 warning secret-in-clear",
            ]),
        OddApp(
            "secrets.json", TinyApp.newer, ["secrets.json": #"{"services": {"gone": {"a": "hunter2"}}}"#],
            report: ["secrets.json:1 warning feature-not-served"]),
        OddApp(
            "hosting at the root", TinyApp.newer,
            [
                "realm_config.json":
                    #"{"config_version": 20210101, "app_id": "tiny", "name": "tiny", "hosting": {"enabled": true}}"#
            ],
            report: []),
        OddApp(
            "malformed JSON of hosting", TinyApp.newer, ["hosting/config.json": "{"],
            report: ["hosting/config.json:1 error json-invalid"]),
        OddApp(
            "environments without values", TinyApp.newer,
            [
                "environments/production.json": #"{"values": {}}"#,
                "environments/no-environment.json": #"{"values": {}}"#,
            ]),
        OddApp(
            "a value from a secret", TinyApp.newer,
            [
                "values/key.json": #"{"name": "key", "value": "keySecret", "from_secret": true}"#
            ]
        ) { app in #expect(app.secretNames == ["keySecret"]) },
    ]
}

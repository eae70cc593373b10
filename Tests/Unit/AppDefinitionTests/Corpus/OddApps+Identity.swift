import AppDefinition
import DocumentModel
import Testing

/// Every app of the corpus.
enum OddApps {
    static let all = identity + layouts + sync + flexible + rules + functions + triggers + unserved
}

extension OddApps {
    /// Ids, root files, and JSON that isn't quite JSON.
    static let identity: [OddApp] = [
        OddApp("the newer layout") { app in
            #expect(app.id == "tiny-abcde" && app.functions.map(\.name) == ["greet"])
        },
        OddApp("the older layout", TinyApp.older) { app in
            #expect(app.id == "tiny-abcde" && app.functions.map(\.name) == ["greet"] && app.sync == nil)
            #expect(app.collection("Task", database: "Db")?.schema != nil)
        },
        OddApp(
            "stitch.json", TinyApp.older,
            [
                "config.json": nil,
                "stitch.json": #"{"config_version": 20180301, "app_id": "tiny-abcde", "name": "tiny", "security": {}}"#,
            ]
        ) { app in #expect(app.id == "tiny-abcde" && app.authProviders.count == 1) },
        OddApp(
            "no app_id", TinyApp.newer, ["realm_config.json": #"{"config_version": 20210101, "name": "My Tiny App"}"#],
            report: ["realm_config.json:1 warning app-id-derived"], says: ["'my-tiny-app'", "--app-id"]
        ) { app in #expect(app.id == "my-tiny-app" && app.name == "My Tiny App") },
        OddApp(
            "an empty app_id", TinyApp.older,
            ["config.json": #"{"config_version": 20200603, "app_id": "", "name": "tiny"}"#],
            report: ["config.json:1 warning app-id-derived"], says: ["'tiny'"]
        ) { app in #expect(app.id == "tiny") },
        OddApp(
            "a placeholder as app_id", TinyApp.newer,
            [
                "realm_config.json":
                    "{\"config_version\": 20210101,\n \"app_id\": \"<your-app-id>\", \"name\": \"tiny\"}"
            ],
            report: ["realm_config.json:2 warning app-id-derived"]
        ) { app in #expect(app.id == "tiny") },
        OddApp(
            "a placeholder as app_id and as name", TinyApp.newer,
            ["realm_config.json": #"{"config_version": 20210101, "app_id": "<id>", "name": "<name>"}"#],
            report: ["realm_config.json:1 error field-missing"], says: ["--app-id ID"]),
        OddApp(
            "neither app_id nor name", TinyApp.newer, ["realm_config.json": #"{"config_version": 20210101}"#],
            report: ["realm_config.json:1 error field-missing"], says: ["--app-id ID", "write app_id"]),
        OddApp(
            "the operator's id, where there is none", TinyApp.newer,
            ["realm_config.json": #"{"config_version": 20210101}"#], choices: DeploymentChoices(appId: "mine")
        ) { app in #expect(app.id == "mine" && app.name == "mine") },
        OddApp("the operator's id, in place of the app's", choices: DeploymentChoices(appId: "staging")) { app in
            #expect(app.id == "staging" && app.name == "tiny")
        },
        OddApp(
            "an id that can't be one", choices: DeploymentChoices(appId: "a/b"), report: [". error field-value"],
            says: ["--app-id must have at most 48"]),
        OddApp(
            "a name without a letter", TinyApp.newer,
            ["realm_config.json": #"{"config_version": 20210101, "name": "!!!"}"#],
            report: ["realm_config.json:1 error field-missing"]),
        OddApp(
            "root_config.json, with the id in .mdb", TinyApp.newer,
            [
                "realm_config.json": nil, "root_config.json": #"{"name": "tiny", "deployment_model": "LOCAL"}"#,
                ".mdb/meta.json": #"{"config_version": 20230101, "app_id": "0123", "client_app_id": "tiny-vwxyz"}"#,
            ],
            report: ["root_config.json:1 warning app-id-derived"], says: ["tiny-vwxyz", ".mdb/meta.json"]
        ) { app in #expect(app.id == "tiny-vwxyz" && app.deploymentModel == "LOCAL") },
        OddApp(
            "two root files", TinyApp.newer, ["root_config.json": #"{"app_id": "other", "name": "other"}"#],
            report: ["root_config.json:1 warning part-shadowed"]
        ) { app in
            #expect(app.id == "tiny-abcde" && app.name == "tiny")
        },
        OddApp(
            "no root file", TinyApp.older, ["config.json": nil], choices: DeploymentChoices(appId: "tiny"),
            report: ["realm_config.json warning file-missing"]
        ) { app in
            #expect(app.authProviders.count == 1 && app.collections.count == 1 && app.functions.count == 1)
        },
        OddApp(
            "no root file and no id", TinyApp.newer, ["realm_config.json": nil],
            report: ["realm_config.json warning file-missing", "realm_config.json error field-missing"]),
        OddApp(
            "trailing commas", TinyApp.newer,
            [
                "functions/config.json": "[\n  {\"name\": \"greet\", \"private\": false,},\n]",
                "functions/greet.js": "exports = () => 'a,]';\n",
            ],
            report: [
                "functions/config.json:2 warning json-trailing-comma",
                "functions/config.json:2 warning json-trailing-comma",
            ], says: ["trailing comma"]
        ) { app in #expect(app.functions.count == 1) },
        OddApp(
            "a comma in place of a value", TinyApp.newer, ["functions/config.json": "[\n{\"name\":,}]"],
            report: [
                "functions/config.json:2 error json-invalid", "functions/greet.js:1 warning function-not-configured",
            ]),
        OddApp("a byte order mark", TinyApp.newer, ["values/a.json": "\u{FEFF}{\"name\": \"a\", \"value\": 1}"]) {
            app in
            #expect(app.value("a") == 1)
        },
        OddApp(
            "null for a list", TinyApp.newer, ["http_endpoints/config.json": "null"],
            report: ["http_endpoints/config.json:1 warning field-type"], says: ["null"]
        ) { app in #expect(app.httpEndpoints.isEmpty) },
        OddApp(
            "files that are none of an app's", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/Db/Task/rules.bck.json": "{", "README.json": "{",
                "functions/notes.json": "{",
            ]),
    ]
}

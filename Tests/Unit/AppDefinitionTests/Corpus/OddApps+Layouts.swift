import AppDefinition
import DocumentModel
import Testing

extension OddApps {
    /// Folders of both layouts at once, and several data sources.
    static let layouts: [OddApp] = [
        OddApp(
            "a service beside the newer layout", TinyApp.newer,
            [
                "services/web/config.json": #"{"name": "web", "type": "http", "config": {}}"#
            ]
        ) { app in #expect(app.dataSources.map(\.type) == ["mongodb-atlas", "http"]) },
        OddApp(
            "an http service under http_endpoints", TinyApp.newer,
            [
                "http_endpoints/web/config.json": #"{"name": "web", "type": "http", "config": {}, "version": 1}"#
            ]
        ) { app in #expect(app.dataSources.map(\.name) == ["mongodb-atlas", "web"]) },
        OddApp(
            "the newer root over older folders", TinyApp.older,
            [
                "config.json": nil, "realm_config.json": #"{"config_version": 20210101, "app_id": "tiny-abcde"}"#,
            ]
        ) { app in
            #expect(app.collections.map(\.name) == ["Task"] && app.functions.map(\.name) == ["greet"])
            #expect(app.authProviders.map(\.name) == ["anon-user"])
        },
        OddApp(
            "providers in both places", TinyApp.newer,
            ["auth_providers/api-key.json": #"{"name": "api-key", "type": "api-key"}"#],
            report: ["auth_providers/api-key.json:1 warning part-shadowed"]
        ) { app in #expect(app.authProviders.map(\.name) == ["anon-user"]) },
        OddApp(
            "the older rules of a converted service", TinyApp.newer,
            [
                "services/mongodb-atlas/rules/Db.Old.json": #"{"database": "Db", "collection": "Old", "roles": []}"#
            ],
            report: ["services/mongodb-atlas/rules/Db.Old.json:1 warning part-shadowed"]
        ) { app in #expect(app.collections.map(\.name) == ["Task"]) },
        OddApp(
            "a data source without configuration", TinyApp.newer, ["data_sources/mongodb-atlas/config.json": nil],
            report: ["data_sources/mongodb-atlas/config.json warning file-missing"]
        ) { app in #expect(app.dataSources.map(\.isDocumentStore) == [true]) },
        OddApp(
            "an older service without configuration", TinyApp.older, ["services/mongodb-atlas/config.json": nil],
            report: ["services/mongodb-atlas/config.json warning file-missing"]
        ) { app in
            #expect(app.dataSources.map(\.isDocumentStore) == [true] && app.collections.map(\.name) == ["Task"])
        },
        OddApp(
            "a data source without config", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#
            ]
        ) { app in #expect(app.dataSources.count == 1) },
        OddApp(
            "a data source without type", TinyApp.newer,
            ["data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas"}"#],
            report: ["data_sources/mongodb-atlas/config.json:1 warning field-missing"]
        ) { app in #expect(app.dataSources.map(\.isDocumentStore) == [true]) },
        OddApp(
            "two services of one cluster", TinyApp.newer,
            [
                "data_sources/admin/config.json":
                    #"{"name": "admin", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
                "data_sources/admin/Db/Task/rules.json": #"{"database": "Db", "collection": "Task", "roles": []}"#,
            ]
        ) { app in
            #expect(app.isSameStore("admin", "mongodb-atlas"))
            let place = ChangeEvent.Namespace(database: "Db", collection: "Task")
            #expect(DocumentRules(of: place, in: app, service: "admin") == nil)
            #expect(DocumentRules(of: place, in: app, service: "mongodb-atlas") != nil)
            #expect(app.serviceBeyondReach(of: "admin", for: place) == nil)
        },
        OddApp(
            "a service of another cluster, and a trigger that names the wrong one", TinyApp.newer,
            [
                "data_sources/other/config.json":
                    #"{"name": "other", "type": "mongodb-atlas", "config": {"clusterName": "Cluster1"}}"#,
                "data_sources/other/default_rule.json":
                    #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#,
                "triggers/done.json": """
                {"name": "done", "type": "DATABASE", "disabled": false, "config": {"operation_types": ["INSERT"],
                   "database": "Db", "collection": "Task", "service_name": "other", "match": {}, "full_document": true},
                 "event_processors": {"FUNCTION": {"config": {"function_name": "greet"}}}}
                """,
            ],
            report: ["triggers/done.json:2 error service-unknown"], says: ["Db.Task belongs to mongodb-atlas"]
        ) { app in
            let place = ChangeEvent.Namespace(database: "Db", collection: "Task")
            #expect(app.serviceBeyondReach(of: "other", for: place) == "mongodb-atlas")
            // The default rules of a service aren't those of another cluster's collection.
            #expect(DocumentRules(of: place, in: app, service: "other") == nil)
            let own = ChangeEvent.Namespace(database: "Db", collection: "Undeclared")
            #expect(DocumentRules(of: own, in: app, service: "other") != nil)
            #expect(app.hasDocumentStore("other") && !app.hasDocumentStore("atlas"))
        },
        OddApp(
            "custom user data of another cluster's service", TinyApp.newer,
            [
                "data_sources/other/config.json":
                    #"{"name": "other", "type": "mongodb-atlas", "config": {"clusterName": "Cluster1"}}"#,
                "auth/custom_user_data.json": """
                {"enabled": true, "mongo_service_name": "other", "database_name": "Db", "collection_name": "Task",
                 "user_id_field": "owner_id"}
                """,
            ],
            report: ["auth/custom_user_data.json:1 error service-unknown"], says: ["Db.Task belongs to mongodb-atlas"]),
        OddApp(
            "a store of another name, and a function that names the usual one", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/config.json": #"{"name": "main", "type": "mongodb-atlas"}"#,
                "functions/greet.js": "exports = () =>\n  context.services.get('mongodb-atlas').db('Db');\n",
            ],
            report: ["functions/greet.js:2 warning service-unknown"], says: ["no service mongodb-atlas"]),
        OddApp(
            "two clusters with one collection", TinyApp.newer,
            [
                "data_sources/other/config.json":
                    #"{"name": "other", "type": "mongodb-atlas", "config": {"clusterName": "Cluster1"}}"#,
                "data_sources/other/Db/Task/rules.json": #"{"roles": []}"#,
            ],
            report: ["data_sources/other/Db/Task/rules.json:1 error collection-conflict"], says: ["different clusters"]),
        OddApp(
            "two clusters with collections of their own", TinyApp.newer,
            [
                "data_sources/other/config.json":
                    #"{"name": "other", "type": "mongodb-atlas", "config": {"clusterName": "Cluster1"}}"#,
                "data_sources/other/Db/Log/schema.json": TinyApp.schema, "sync/config.json": TinyApp.sync(),
            ]
        ) { app in
            #expect(app.collections.map(\.name) == ["Task", "Log"])
            #expect(app.collections.map(app.syncVerdict) == [.synced, .otherDatabase])
        },
        OddApp(
            "one cluster, two schemas of a collection", TinyApp.newer,
            [
                "data_sources/admin/config.json":
                    #"{"name": "admin", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
                "data_sources/admin/Db/Task/schema.json": #"{"title": "Task", "properties": {"a": {}}}"#,
            ],
            report: ["data_sources/mongodb-atlas/Db/Task/rules.json:1 warning collection-conflict"]),
        OddApp(
            "rules that name another collection", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/Db/Task/rules.json":
                    #"{"database": "Db", "collection": "Job", "roles": []}"#
            ],
            report: ["data_sources/mongodb-atlas/Db/Task/rules.json:1 warning field-value"], says: ["Db.Job"]
        ) { app in #expect(app.collections.map(\.name) == ["Job"]) },
        OddApp(
            "rules that name a collection with rules of its own", TinyApp.newer,
            [
                "data_sources/mongodb-atlas/Db/Copy/rules.json":
                    #"{"database": "Db", "collection": "Task", "roles": []}"#
            ],
            report: ["data_sources/mongodb-atlas/Db/Copy/rules.json:1 warning field-value"], says: ["is taken"]
        ) { app in #expect(app.collections.map(\.name) == ["Copy", "Task"]) },
        OddApp(
            "an older file whose name says something else", TinyApp.older,
            [
                "services/mongodb-atlas/rules/Db.Copy.json":
                    #"{"database": "Db", "collection": "Job", "roles": []}"#
            ],
            report: ["services/mongodb-atlas/rules/Db.Copy.json:1 warning field-value"]
        ) { app in #expect(app.collections.map(\.name) == ["Job", "Task"]) },
        OddApp(
            "rules of other services have no collection", TinyApp.older,
            [
                "services/web/config.json": #"{"name": "web", "type": "http", "config": {}}"#,
                "services/mongodb-atlas/rules/s3.json": #"{"name": "s3", "actions": ["s3:PutObject"]}"#,
            ]
        ) { app in #expect(app.collections.count == 1) },
    ]
}

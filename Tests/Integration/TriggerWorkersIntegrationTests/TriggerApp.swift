import AppDefinition
import DocumentModel

/// An app for one test: functions, and triggers on inserts into collections of its database `Test`.
struct TriggerApp {
    let id = "test-" + ObjectId().hexString
    /// Sources by name; `known` is always there.
    var functions: [String: String] = [:]
    /// Functions by the collection whose inserts they run on.
    var triggers: [String: String] = [:]
    /// What the triggers' `match` is, for all of them.
    var match = "{}"
    var hasPresence = false

    var files: AppFiles {
        let names = functions.keys.sorted() + ["known"]
        let settings = names.map {
            "{\"name\": \"\($0)\", \"private\": \($0.hasPrefix("hidden")), \"run_as_system\": true}"
        }
        var files: AppFiles = [
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "\(id)", "name": "Test", "location": "DE-FF", "deployment_model": "LOCAL"}
            """,
            "data_sources/mongodb-atlas/config.json": """
            {"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Test"}, "version": 1}
            """,
            "functions/config.json": "[" + settings.joined(separator: ",") + "]",
            "functions/known.js": "exports = () => null;",
        ]
        for (name, source) in functions { files.texts["functions/\(name).js"] = source }
        for (collection, function) in triggers {
            files.texts["triggers/on\(collection).json"] = """
                {"name": "on\(collection)", "type": "DATABASE", "disabled": false,
                 "config": {"service_name": "mongodb-atlas", "database": "Test", "collection": "\(collection)",
                            "operation_types": ["INSERT"], "full_document": true, "full_document_before_change": false,
                            "match": \(match), "project": {}, "unordered": false, "skip_catchup_events": false},
                 "event_processors": {"FUNCTION": {"config": {"function_name": "\(function)"}}}}
                """
        }
        if hasPresence {
            files.texts["partita.json"] = """
                {"presence": {"database": "Test", "collection": "User", "field": "presence", "userField": "_id",
                              "online": "On-Line", "offline": "Off-Line", "lastSeenField": "lastSeenAt"}}
                """
        }
        return files
    }
}

import AppDefinition
import DocumentModel

/// An app for one test: functions, and triggers on inserts into collections of its database `Test`.
struct TriggerApp {
    let id = "test-" + ObjectId().hexString
    /// Sources by name; `known` is always there. One whose name begins with `hidden` is private, with `user` runs as its caller.
    var functions: [String: String] = [:]
    /// Functions by the collection whose inserts they run on.
    var triggers: [String: String] = [:]
    /// Whether the triggers handle events of different documents at the same time.
    var isUnordered = false
    /// What the triggers' `match` is, for all of them.
    var match = "{}"
    var hasPresence = false
    /// Dotted path of the presence field.
    var presenceField = "presence"
    var presenceUserField = "_id"
    /// Functions that run when a schedule says so, which is once a year.
    var scheduled: [String] = []
    /// Data rules by the collection of `Test`.
    var rules: [String: String] = [:]
    /// Further files of the app.
    var more: [String: String] = [:]
    /// Further settings of functions, as JSON members.
    var settings: [String: String] = [:]
    /// Names of secrets by the value that gives them to functions.
    var secretValues: [String: String] = [:]

    var files: AppFiles {
        let names = functions.keys.sorted() + ["known"]
        let functionSettings = names.map { name in
            let more = settings[name].map { ", " + $0 } ?? ""
            return """
                {"name": "\(name)", "private": \(name.hasPrefix("hidden")), "run_as_system": \(!name.hasPrefix("user"))\(more)}
                """
        }
        var files: AppFiles = [
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "\(id)", "name": "Test", "location": "DE-FF", "deployment_model": "LOCAL"}
            """,
            "data_sources/mongodb-atlas/config.json": """
            {"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Test"}, "version": 1}
            """,
            "functions/config.json": "[" + functionSettings.joined(separator: ",") + "]",
            "functions/known.js": "exports = () => null;",
        ]
        for (name, source) in functions { files.texts["functions/\(name).js"] = source }
        for function in scheduled {
            files.texts["triggers/at\(function).json"] = """
                {"name": "at\(function)", "type": "SCHEDULED", "disabled": false, "config": {"schedule": "0 0 1 1 *"},
                 "event_processors": {"FUNCTION": {"config": {"function_name": "\(function)"}}}}
                """
        }
        for (name, secret) in secretValues {
            files.texts["values/\(name).json"] = """
                {"name": "\(name)", "value": "\(secret)", "from_secret": true}
                """
        }
        for (collection, text) in rules {
            files.texts["data_sources/mongodb-atlas/Test/\(collection)/rules.json"] = text
        }
        for (collection, function) in triggers {
            files.texts["triggers/on\(collection).json"] = """
                {"name": "on\(collection)", "type": "DATABASE", "disabled": false,
                 "config": {"service_name": "mongodb-atlas", "database": "Test", "collection": "\(collection)",
                            "operation_types": ["INSERT"], "full_document": true, "full_document_before_change": false,
                            "match": \(match), "project": {}, "unordered": \(isUnordered), "skip_catchup_events": false},
                 "event_processors": {"FUNCTION": {"config": {"function_name": "\(function)"}}}}
                """
        }
        for (path, text) in more { files.texts[path] = text }
        if hasPresence {
            files.texts["partita.json"] = """
                {"presence": {"database": "Test", "collection": "User", "field": "\(presenceField)",
                              "userField": "\(presenceUserField)", "online": "On-Line", "offline": "Off-Line", "lastSeenField": "lastSeenAt"}}
                """
        }
        return files
    }
}

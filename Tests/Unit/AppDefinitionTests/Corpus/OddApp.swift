import AppDefinition
import DocumentModel
import Testing

/// A small app with one oddity that exports have in practice, and what a deployment says of it.
struct OddApp: Sendable, CustomTestStringConvertible {
    let name: String
    let files: AppFiles
    /// All problems, in order, as `file:line severity code`; without the line where none is known.
    let report: [String]
    /// What the messages contain, besides.
    let says: [String]
    /// What the definition is nevertheless.
    let check: @Sendable (AppDefinition) throws -> Void

    var testDescription: String { name }

    init(
        _ name: String, _ base: AppFiles = TinyApp.newer, _ changes: [String: String?] = [:],
        choices: DeploymentChoices = DeploymentChoices(), report: [String] = [], says: [String] = [],
        check: @escaping @Sendable (AppDefinition) throws -> Void = { _ in }
    ) {
        self.name = name
        var files = base
        for (path, text) in changes { files.texts[ExactText(path)] = text }
        files.choices = choices
        self.files = files
        self.report = report
        self.says = says
        self.check = check
    }
}

/// The apps that the odd ones are made of: one in each layout, without problems.
enum TinyApp {
    static let schema = """
        {
          "title": "Task", "bsonType": "object", "required": ["_id"],
          "properties": {"_id": {"bsonType": "objectId"}, "_partition": {"bsonType": "string"},
            "owner_id": {"bsonType": "string"}, "done": {"bsonType": "bool"}}
        }
        """
    static let roles = #"[{"name": "owner", "apply_when": {"owner_id": "%%user.id"}, "read": true, "write": true}]"#
    static let partition = """
        "partition": {"key": "_partition", "type": "string",
          "permissions": {"read": {"%%partition": "%%user.id"}, "write": {"%%partition": "%%user.id"}}}
        """

    static let newer: AppFiles = [
        "realm_config.json": #"{"config_version": 20210101, "app_id": "tiny-abcde", "name": "tiny"}"#,
        "auth/providers.json": #"{"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false}}"#,
        "data_sources/mongodb-atlas/config.json":
            #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
        "data_sources/mongodb-atlas/Db/Task/schema.json": schema,
        "data_sources/mongodb-atlas/Db/Task/rules.json":
            #"{"database": "Db", "collection": "Task", "roles": \#(roles)}"#,
        "functions/config.json": #"[{"name": "greet", "private": false}]"#,
        "functions/greet.js": "exports = () => 'hello';\n",
    ]

    static let older: AppFiles = [
        "config.json": """
        {"config_version": 20200603, "app_id": "tiny-abcde", "name": "tiny", "security": {},
         "sync": {"development_mode_enabled": false}}
        """,
        "auth_providers/anon-user.json": #"{"name": "anon-user", "type": "anon-user", "disabled": false}"#,
        "services/mongodb-atlas/config.json":
            #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}, "version": 1}"#,
        "services/mongodb-atlas/rules/Db.Task.json":
            #"{"database": "Db", "collection": "Task", "roles": \#(roles), "schema": \#(schema)}"#,
        "functions/greet/config.json": #"{"name": "greet", "private": false}"#,
        "functions/greet/source.js": "exports = () => 'hello';\n",
    ]

    /// A sync configuration of the newer layout.
    static func sync(_ fields: String = "", database: String? = "Db") -> String {
        let name = database.map { #""database_name": "\#($0)", "# } ?? ""
        return """
            {"state": "enabled", "service_name": "mongodb-atlas", \(name)\(fields)
             \(partition)}
            """
    }

    static func flexible(_ permissions: String, _ more: String = "") -> String {
        """
        {"type": "flexible", "state": "enabled", "service_name": "mongodb-atlas", "database_name": "Db",
         "permissions": \(permissions)\(more)}
        """
    }

    static func trigger(_ type: String, _ config: String, _ more: String = #""function_name": "greet""#) -> String {
        #"{"name": "t", "type": "\#(type)", "config": \#(config), \#(more)}"#
    }
}

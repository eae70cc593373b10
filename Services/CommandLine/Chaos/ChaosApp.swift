import AppDefinition
import DocumentModel

/// The app of `partita chaos`, and the names in it.
///
/// Whoever a `Member` document names may read and write its team's partition. A device writes entries, each with an increment of its
/// team's counter in the same changeset, paths of boards that others write too, and notes that anybody changes and deletes. A trigger
/// writes a `Log` for each entry, and counts it in `Tally`.
enum ChaosApp {
    static let id = "chaos"
    static let database = "Chaos"
    static let partitionKey = "partition"
    static let service = "mongodb-atlas"

    /// The collections that devices have.
    static let synced = ["Entry", "Counter", "Board", "Note", "Log", "Tally", "Visit"]
    static let boards = ["board-1", "board-2"]
    static let paths = ["a", "b.c", "b.d", "e.f.g"]

    static func counter(_ team: String) -> Value { .string("counter-" + team) }
    static func board(_ name: String, _ team: String) -> Value { .string(name + "-" + team) }

    /// The schema of Postgres with the app's tables, quoted.
    static let schema = "\"\(id)/\(database)\""

    /// The app's files.
    static var files: AppFiles {
        var texts = fixed
        for collection in synced {
            texts["data_sources/\(service)/\(database)/\(collection)/schema.json"] = schema(of: collection)
        }
        return AppFiles(Dictionary(uniqueKeysWithValues: texts.map { (ExactText($0.key), $0.value) }))
    }

    private static func schema(of collection: String) -> String {
        """
        {
            "title": "\(collection)", "bsonType": "object", "required": ["_id", "\(partitionKey)"],
            "properties": { "_id": { "bsonType": "string" }, "\(partitionKey)": { "bsonType": "string" } }
        }
        """
    }

    private static let fixed = [
        "realm_config.json": """
        { "config_version": 20210101, "app_id": "\(id)", "name": "Chaos" }
        """,
        "auth/providers.json": """
        {
            "local-userpass": {
                "name": "local-userpass", "type": "local-userpass", "config": { "autoConfirm": true }, "disabled": false
            }
        }
        """,
        "data_sources/\(service)/config.json": """
        { "name": "\(service)", "type": "mongodb-atlas", "config": { "clusterName": "Chaos" } }
        """,
        "sync/config.json": """
        {
            "state": "enabled", "service_name": "\(service)", "database_name": "\(database)",
            "partition": {
                "key": "\(partitionKey)", "type": "string", "required": true,
                "permissions": {
                    "read": { "%%true": { "%function": { "name": "isMember", "arguments": ["%%partition"] } } },
                    "write": { "%%true": { "%function": { "name": "isMember", "arguments": ["%%partition"] } } }
                }
            }
        }
        """,
        "functions/config.json": """
        [
            { "name": "isMember", "private": true, "run_as_system": true },
            { "name": "logEntry", "private": true, "run_as_system": true }
        ]
        """,
        "functions/isMember.js": """
        exports = async function (team) {
          const members = context.services.get("\(service)").db("\(database)").collection("Member");
          return !!(await members.findOne({ user: context.user.id, team }));
        };
        """,
        "functions/logEntry.js": """
        exports = async function ({ documentKey, fullDocument }) {
          const database = context.services.get("\(service)").db("\(database)");
          const team = fullDocument.\(partitionKey);
          const id = new BSON.ObjectId().toString();
          await database.collection("Log").insertOne({ _id: id, \(partitionKey): team, entry: documentKey._id });
          await database.collection("Tally").updateOne(
            { _id: "tally-" + team },
            { $inc: { entries: 1 }, $setOnInsert: { \(partitionKey): team } },
            { upsert: true }
          );
        };
        """,
        "triggers/entryWritten.json": """
        {
            "name": "entryWritten", "type": "DATABASE",
            "config": {
                "service_name": "\(service)", "database": "\(database)", "collection": "Entry",
                "operation_types": ["INSERT"], "full_document": true, "match": {}, "project": {}, "unordered": false,
                "skip_catchup_events": false
            },
            "event_processors": { "FUNCTION": { "config": { "function_name": "logEntry" } } },
            "disabled": false
        }
        """,
    ]
}

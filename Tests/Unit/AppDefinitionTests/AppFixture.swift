import AppDefinition
import DocumentModel

/// A small app in the newer layout, and ways to break it.
enum AppFixture {
    static let files: AppFiles = [
        "realm_config.json": """
        {"config_version": 20210101, "app_id": "shop-abcde", "name": "shop", "location": "DE-FF",
         "deployment_model": "LOCAL", "environment": "production", "allowed_request_origins": ["https://shop.example"]}
        """,
        "auth/providers.json": """
        {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "disabled": false,
          "config": {"autoConfirm": false, "runConfirmationFunction": true, "confirmationFunctionName": "confirm",
                     "runResetFunction": false, "resetPasswordUrl": "https://shop.example/reset"}},
         "anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false}}
        """,
        "auth/custom_user_data.json": """
        {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "Shop",
         "collection_name": "Customer", "user_id_field": "userId"}
        """,
        "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}"#,
        "data_sources/mongodb-atlas/Shop/Customer/schema.json": """
        {"title": "Customer", "bsonType": "object", "required": ["_id", "_partition"],
         "properties": {"_id": {"bsonType": "objectId"}, "_partition": {"bsonType": "string"},
                        "userId": {"bsonType": "string"},
                        "orders": {"bsonType": "array", "items": {"bsonType": "objectId"}}}}
        """,
        "data_sources/mongodb-atlas/Shop/Customer/rules.json": """
        {"roles": [{"name": "owner", "apply_when": {"userId": "%%user.id"}, "read": true, "write": true,
                    "fields": {"credit": {"write": false}}, "additional_fields": {"write": true}}]}
        """,
        "data_sources/mongodb-atlas/Shop/Customer/relationships.json": """
        {"orders": {"ref": "#/relationship/mongodb-atlas/Shop/Customer", "foreign_key": "_id", "is_list": true}}
        """,
        "sync/config.json": """
        {"state": "enabled", "database_name": "Shop", "service_name": "mongodb-atlas",
         "partition": {"key": "_partition", "type": "string", "required": true,
           "permissions": {"read": {"%%partition": "%%user.id"}, "write": {"%%partition": "%%user.id"}}}}
        """,
        "functions/config.json": """
        [{"name": "confirm", "private": true}, {"name": "greet", "private": false, "run_as_system": false,
          "can_evaluate": {"%%user.type": "normal"}, "disable_arg_logs": true}]
        """,
        "functions/confirm.js": "exports = () => ({status: 'success'});\n",
        "functions/greet.js": "exports = async (name) => `hello ${name}`;\n",
        "triggers/nightly.json": """
        {"name": "nightly", "type": "SCHEDULED", "config": {"schedule": "0 3 * * *"}, "function_name": "greet",
         "disabled": false}
        """,
        "triggers/written.json": """
        {"name": "written", "type": "DATABASE", "disabled": true,
         "config": {"service_name": "mongodb-atlas", "database": "Shop", "collection": "Customer",
                    "operation_types": ["INSERT", "DELETE"], "full_document": true,
                    "match": {"fullDocument.vip": true}},
         "event_processors": {"FUNCTION": {"config": {"function_name": "greet"}}}}
        """,
        "values/limit.json": #"{"name": "limit", "value": 10, "from_secret": false}"#,
        "values/apiKey.json": #"{"name": "apiKey", "value": "apiKeySecret", "from_secret": true}"#,
        "environments/production.json": #"{"values": {"url": "https://shop.example"}}"#,
        "http_endpoints/config.json": """
        [{"route": "/hello", "http_method": "POST", "function_name": "greet", "validation_method": "NO_VALIDATION",
          "respond_result": true, "disabled": true, "return_type": "EJSON"}]
        """,
        "partita.json": """
        {"presence": {"collection": "Customer", "field": "presence"},
         "media": [{"collection": "Customer", "field": "photo.data", "linkField": "photo.url"}],
         "indexes": [{"collection": "Customer", "key": {"name": 1, "age": -1}, "unique": true}]}
        """,
    ]

    /// The files with one text replaced, removed (`nil`) or added.
    static func files(_ path: String, _ text: String?) -> AppFiles {
        var files = files
        files.texts[path] = text
        return files
    }

    /// The problems that come with one changed file.
    static func problems(_ path: String, _ text: String?) -> [DefinitionProblem] {
        AppDefinition.inspect(files(path, text)).problems
    }
}

import AppDefinition
import DocumentModel
import Foundation

/// An app for one test.
struct TestApp {
    var id = "test-" + ObjectId().hexString
    var origins: [String] = []
    var confirmation = #""autoConfirm": true"#
    var reset = #""resetPasswordUrl": "https://app.example/reset""#
    var isAnonymousDisabled = false
    /// `config`, `secret_config` and `metadata_fields` of the provider `custom-token`.
    var customToken: String?
    /// Further providers, each a JSON object, by their names.
    var providers: [String: String] = [:]

    var files: AppFiles {
        let list = origins.map { "\"\($0)\"" }.joined(separator: ", ")
        let names = ["succeed", "wait", "waitOnce", "lose", "refuse", "break", "overrun", "authenticate"]
        var files: AppFiles = [
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "\(id)", "name": "Test", "location": "DE-FF",
             "deployment_model": "LOCAL", "allowed_request_origins": [\(list)]}
            """,
            "auth/providers.json": """
            {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "config": {\(confirmation), \(reset)}},
             "anon-user": {"name": "anon-user", "type": "anon-user", "disabled": \(isAnonymousDisabled)},
             "api-key": {"name": "api-key", "type": "api-key"},
             "custom-function": {"name": "custom-function", "type": "custom-function",
                                 "config": {"authFunctionName": "authenticate"}}}
            """,
            "functions/config.json": "["
                + names.map { "{\"name\": \"\($0)\", \"private\": true}" }.joined(separator: ",") + "]",
        ]
        if let customToken {
            let provider = customToken.trimmingCharacters(in: .whitespacesAndNewlines).dropFirst().dropLast()
            files.texts["auth/providers.json"]?.removeLast()
            files.texts["auth/providers.json"]? +=
                #", "custom-token": {"name": "custom-token", "type": "custom-token", \#(provider)}}"#
        }
        for (name, provider) in providers.sorted(by: { $0.key < $1.key }) {
            files.texts["auth/providers.json"]?.removeLast()
            files.texts["auth/providers.json"]? += ", \"\(name)\": \(provider)}"
        }
        for name in names { files.texts["functions/\(name).js"] = "exports = () => null;" }
        return files
    }
}

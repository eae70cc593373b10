import DocumentModel

/// Warns of secrets that are in the files in plain text. Their values are never part of a message.
struct SecretsInClear {
    let definition: AppDefinition
    let log: ProblemLog

    init(_ definition: AppDefinition, log: ProblemLog) {
        self.definition = definition
        self.log = log
    }

    func report() {
        let files = definition.files
        for file in files.paths where file.contains("/incoming_webhooks/") && file.hasSuffix("/config.json") {
            guard let secret = log.value(file, severity: .warning)?["options"]?["secret"]?.stringValue, !secret.isEmpty
            else { continue }
            warn(file, pointer: "/options/secret", line: nil)
        }
        for source in definition.dataSources {
            for key in ["secretAccessKey", "auth_token"] where source.config[key]?.stringValue?.isEmpty == false {
                warn(source.file, pointer: "/config/\(key)", line: nil)
            }
        }
        for function in definition.functions {
            guard let line = FunctionSource.lineOfPrivateKey(function.source) else { continue }
            warn(function.file, pointer: "", line: line)
        }
    }

    private func warn(_ file: String, pointer: String, line: Int?) {
        log.add(
            .secretInClear, severity: .warning, file: file, pointer: pointer, line: line,
            "a secret in plain text, which the app's history and its exports show to whoever may read them: make it a value with from_secret, set it with `partita secret set`, and change it, since it may be in a backup or a repository, too"
        )
    }
}

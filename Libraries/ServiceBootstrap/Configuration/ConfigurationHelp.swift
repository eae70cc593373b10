extension Configuration {
    /// The list of keys for a terminal.
    public static func helpText(_ keys: [ConfigurationKeyDescription]) -> String {
        keys.map { key in
            "  \(key.name) (\(facts(key).joined(separator: ", ")))\n      \(key.documentation)\n      \(variables(key).joined(separator: ", or "))\n"
        }.joined()
    }

    /// The list of keys as a table in Markdown.
    public static func markdown(_ keys: [ConfigurationKeyDescription]) -> String {
        let rows = keys.map { key in
            let cells = [
                "`\(key.name)`", variables(key).map { "`\($0)`" }.joined(separator: ", "), key.type,
                key.defaultText.map { "`\($0)`" } ?? (key.isRequired ? "required" : "–"),
                key.range ?? "–", key.documentation,
            ]
            return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
        }
        return (["| key | environment | type | default | range | meaning |", "|---|---|---|---|---|---|"] + rows)
            .joined(separator: "\n") + "\n"
    }

    /// The variables for a key. A secret has a second one that names a file.
    private static func variables(_ key: ConfigurationKeyDescription) -> [String] {
        let name = key.environmentName
        return key.isSecret ? [name, SecretFile.variable(of: name)] : [name]
    }

    private static func facts(_ key: ConfigurationKeyDescription) -> [String] {
        var facts = [key.type, key.isRequired ? "required" : "optional"]
        if let text = key.defaultText { facts.append("default: \(text)") }
        if let range = key.range { facts.append("range: \(range)") }
        return facts
    }
}

import DocumentModel

/// Warns of what of AWS', Twilio's and HTTP services isn't served, and of what would make each call of them fail.
struct VendorServices {
    private let definition: AppDefinition
    private let log: ProblemLog

    /// The settings without which a service can't be called.
    private static let required: [DataSource.Kind: [String]] = [
        .aws: ["accessKeyId", "secretAccessKey"], .twilio: ["sid", "auth_token"],
    ]
    /// The actions of the oldest types, which weren't named like AWS' own.
    private static let oldActions = ["aws-s3": "put and signPolicy", "aws-ses": "send"]

    /// The actions of services that have a fixed number of them.
    private static let actions: [DataSource.Kind: [String]] = [
        .http: ["get", "post", "put", "patch", "delete", "head"], .twilio: ["send"],
    ]

    init(_ definition: AppDefinition, log: ProblemLog) {
        self.definition = definition
        self.log = log
    }

    func report() {
        for source in definition.dataSources {
            guard let kind = source.kind else { continue }
            if let actions = Self.actions[kind] { reportActions(source, actions) }
            guard let settings = Self.required[kind] else { continue }
            for key in settings where !has(source, key) {
                log.add(
                    .fieldMissing, severity: .warning, file: source.file,
                    "the service \(source.name) has no \(key), and calls of it throw: name a secret in secret_config")
            }
            if let old = Self.oldActions[source.type] {
                log.add(
                    .featureNotServed, severity: .warning, file: source.file, pointer: "/type",
                    "\(old), the own actions of \(source.type), aren't served: call those of AWS, as s3(region).PutObject and ses(region).SendEmail"
                )
            }
            if source.rules.isEmpty {
                log.add(
                    .serviceWithoutRules, severity: .warning, file: source.file,
                    "the service \(source.name) has no rules: functions that run as the system can call it, and those that run as a user can't; add a rule to its folder rules if they have to"
                )
            }
            if kind == .aws { reportRules(source) }
        }
        if definition.dataSources.contains(where: { $0.kind == .aws }) { reportFunctions() }
    }

    private func has(_ source: DataSource, _ key: String) -> Bool {
        [source.secretConfig, source.config].contains { $0[key]?.stringValue?.isEmpty == false }
    }

    private func reportActions(_ source: DataSource, _ known: [String]) {
        for rule in source.rules {
            for (index, action) in rule.actions.enumerated() where !(known + ["*"]).containsExactly(action) {
                log.add(
                    .fieldValue, severity: .warning, file: rule.file, pointer: "/actions/\(index)",
                    "a service of type \(source.type) has no action \(action), so that the rule allows nothing by it: write one of \(known.joined(separator: ", "))"
                )
            }
        }
    }

    private func reportRules(_ source: DataSource) {
        for rule in source.rules {
            for (index, action) in rule.actions.enumerated() {
                let parts = action.splitAtBytes(":", maxSplits: 1)
                let what: String
                if let interface = AWSInterface.named(parts[0]) {
                    guard let name = parts.dropFirst().first, name != "*", !interface.serves(name) else { continue }
                    what = "the action \(name) of \(interface.name)"
                } else {
                    if parts[0] == "*" { continue }
                    what = "the interface \(parts[0]) of AWS"
                }
                log.add(
                    .featureNotServed, severity: .warning, file: rule.file, pointer: "/actions/\(index)",
                    "\(what) isn't served, and calls of it throw: use a package of AWS' SDK for JavaScript")
            }
        }
    }

    /// Functions name an interface by a method of a service that is often in a variable.
    private func reportFunctions() {
        for function in definition.functions where function.source.contains("services") {
            var reported: Set<ExactText> = []
            let names = AWSInterface.unserved + AWSInterface.unservedActions
            for (name, line) in FunctionSource.calls(of: names, in: function.source) where reported.insert(name) {
                log.add(
                    .featureNotServed, severity: .warning, file: function.file, line: line,
                    "\(name)() looks like a part of AWS that isn't served: a call of it throws; use a package of AWS' SDK for JavaScript"
                )
            }
        }
    }
}

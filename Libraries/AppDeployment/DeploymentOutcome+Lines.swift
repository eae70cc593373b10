import AppDefinition
import SyncEngine

extension AppDeployments.Outcome {
    /// The outcome for people, without the warnings.
    /// - Parameter isDryRun: whether the deployment was one.
    public func lines(isDryRun: Bool) -> [String] {
        let impact = impact.lines
        if isDryRun {
            return impact + [
                "\(definition.id): nothing was changed; "
                    + (impact.isEmpty ? "no stored document is concerned" : "see above")
                    + (app.map { "; version \($0.version) is deployed" } ?? "; it isn't deployed")
            ]
        }
        let version = app.map { "\($0.version)" } ?? "?"
        let services = serviceCount == 1 ? "1 service has it" : "\(serviceCount) services have it"
        return impact + report + syncReport + [
            isNew
                ? "\(definition.id) version \(version) is deployed" + (serviceCount > 0 ? "; \(services)" : "")
                : "\(definition.id) is unchanged, version \(version)"
        ]
    }

    /// A line for each collection that says whether it is synced, and if not, why; no lines for an app that doesn't
    /// sync.
    private var syncReport: [String] {
        guard definition.sync != nil else { return [] }
        return definition.collections.map { "\($0.database).\($0.name) is \(definition.syncVerdict(of: $0))" }
    }
}

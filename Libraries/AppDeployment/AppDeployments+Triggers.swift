import AppDefinition
import AppRegistry
import DocumentModel

extension AppDeployments {
    /// Pauses a trigger of an app: it no longer runs, after at most some seconds. Deployments don't end the pause.
    ///
    /// What happens meanwhile is kept for ``resumeTrigger(_:of:)``, unless the trigger's configuration says `skip_catchup_events`.
    /// - Throws: `DeploymentError`: `appUnknown`, `triggerUnknown`, `triggerState` when it is paused already.
    public func pauseTrigger(_ name: String, of app: String) async throws {
        _ = try await trigger(name, of: app)
        guard try await registry.pauseTrigger(name, of: app, by: by) else {
            throw DeploymentError(.triggerState, "\(name) is paused already")
        }
        await announcePause(of: app)
    }

    /// Resumes a paused trigger: first it runs for what it has missed, in order, unless its configuration says `skip_catchup_events`; of
    /// the moments of a schedule that it missed, for the last one.
    /// - Throws: `DeploymentError`: `appUnknown`, `triggerUnknown`, `triggerState` when it isn't paused.
    public func resumeTrigger(_ name: String, of app: String) async throws {
        let deployed = try await deployed(app)
        // A trigger that a later version doesn't have can still be resumed, which ends its pause.
        if deployed.pause(of: name) == nil { _ = try await trigger(name, of: app) }
        guard try await registry.resumeTrigger(name, of: app) else {
            throw DeploymentError(.triggerState, "\(name) isn't paused")
        }
        await announcePause(of: app)
    }

    private func announcePause(of app: String) async {
        guard let deployed = try? await registry.load(app) else { return }  // services poll
        _ = await announce(app, deployed)
    }

    private func trigger(_ name: String, of app: String) async throws -> TriggerDefinition {
        try await prepare()
        let definition = try await deployed(app).definition
        guard let trigger = definition.trigger(name) else {
            let names = definition.triggers.map(\.name).joined(separator: ", ")
            throw DeploymentError(
                .triggerUnknown, "\(app) has no trigger \(name)" + (names.isEmpty ? "" : "; there are: \(names)"))
        }
        return trigger
    }
}

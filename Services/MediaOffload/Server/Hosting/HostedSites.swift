import AppRegistry
import DocumentModel
import EventLoop

/// The paths that apps host, read once for each version of an app.
final class HostedSites: Sendable {
    typealias Files = [ExactText: AppRegistry.HostedFile]

    private struct Site {
        let version: Int64
        let files: Task<Files, any Error>
    }

    private let registry: AppRegistry
    private let sites = Locked<[ExactText: Site]>([:])

    init(registry: AppRegistry, apps: AppDirectory) {
        self.registry = registry
        apps.onChange { [sites] change in
            if case .removed(let app) = change { sites.withLock { $0[app] = nil } }
        }
    }

    /// The files that an app hosts, by path.
    func files(of app: DeployedApp) async throws -> Files {
        let site = sites.withLock { sites in
            if let site = sites[app.id], site.version == app.version { return site }
            // All who wait share it, so a client who leaves doesn't end it.
            let site = Site(
                version: app.version,
                files: Task { [registry] in try await registry.hostedFiles(of: app.id, version: app.version) })
            sites[app.id] = site
            return site
        }
        do { return try await site.files.value } catch {
            sites.withLock { if $0[app.id]?.files == site.files { $0[app.id] = nil } }
            throw error
        }
    }
}

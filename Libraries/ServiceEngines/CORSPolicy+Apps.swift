import AppDefinition
public import AppRegistry
public import HTTPServer

extension CORSPolicy {
    /// Allows the origins that the path's app configures (`allowed_request_origins`). As on Atlas, an app without configured
    /// origins may be called from any page; with configured origins, requests from all others are refused. A path without an app
    /// allows the origins of all apps: what such a request can do depends on its bearer token, which a page of another app doesn't
    /// have.
    ///
    /// - Parameter hosting: the origin of an app's own hosted pages counts as configured.
    public init(apps: AppDirectory, hosting: HostingAddress?) {
        @Sendable func origins(_ app: DeployedApp) -> [String] {
            let configured = app.definition.allowedRequestOrigins
            guard !configured.isEmpty, app.definition.hosting != nil, let hosting else { return configured }
            return configured + [hosting.origin(of: app.id)]
        }
        self.init { request in
            let lists =
                if let id = request.parameters["app"] {
                    apps.app(id).map { [origins($0)] } ?? []
                } else {
                    apps.apps.values.map(origins)
                }
            if lists.contains(where: \.isEmpty) { return .any }
            return lists.isEmpty ? .none : .only(Set(texts: lists.joined()))
        }
        refusesOthers = true
    }
}

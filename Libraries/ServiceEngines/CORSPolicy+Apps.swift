import AppDefinition
public import AppRegistry
public import HTTPServer

extension CORSPolicy {
    /// Allows the origins that the path's app configures (`allowed_request_origins`). As on Atlas, an app without configured
    /// origins may be called from any page; with configured origins, requests from all others are refused. A path without an app
    /// allows the origins of all apps; where a bearer token says of which app it is, ``check(_:for:hosting:)`` is for its handler.
    ///
    /// - Parameter hosting: the origin of an app's own hosted pages counts as configured.
    public init(apps: AppDirectory, hosting: HostingAddress?) {
        self.init { request in
            guard let id = request.parameters["app"] else {
                return apps.apps.values.map { CORSPolicy.origins(of: $0, hosting) }.reduce(.none, CORSPolicy.either)
            }
            return apps.app(id).map { CORSPolicy.origins(of: $0, hosting) } ?? .none
        }
        refusesOthers = true
        exposedHeaders = ["Retry-After"]
    }

    /// Refuses a request to a path without an app whose token shows which app it is for.
    /// - Throws: `HTTPError` 403 `OriginNotAllowed`.
    public static func check(_ request: HTTPRequest, for app: DeployedApp, hosting: HostingAddress?) throws(HTTPError) {
        try check(request, origins(of: app, hosting))
    }

    private static func origins(of app: DeployedApp, _ hosting: HostingAddress?) -> Origins {
        let configured = app.definition.allowedRequestOrigins
        guard !configured.isEmpty else { return .any }
        let own = app.definition.hosting == nil ? nil : hosting?.origin(of: app.id)
        return .only(Set(texts: configured + (own.map { [$0] } ?? [])))
    }

    private static func either(_ one: Origins, _ other: Origins) -> Origins {
        switch (one, other) {
        case (.any, _), (_, .any): .any
        case (.only(let some), .only(let more)): .only(some.union(more))
        case (.none, let origins), (let origins, .none): origins
        }
    }
}

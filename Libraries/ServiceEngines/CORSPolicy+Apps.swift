import AppDefinition
public import AppRegistry
public import HTTPServer

extension CORSPolicy {
    /// Allows the origins that the path's app configures (`allowed_request_origins`). As on Atlas, an app without configured
    /// origins may be called from any page; with configured origins, requests from all others are refused. A path without an app
    /// allows the origins of all apps: what such a request can do depends on its bearer token, which a page of another app doesn't
    /// have.
    public init(apps: AppDirectory) {
        self.init { request in
            let lists: [[String]] =
                if let id = request.parameters["app"] {
                    apps.app(id).map { [$0.definition.allowedRequestOrigins] } ?? []
                } else {
                    apps.apps.values.map(\.definition.allowedRequestOrigins)
                }
            if lists.contains(where: \.isEmpty) { return .any }
            return lists.isEmpty ? .none : .only(Set(texts: lists.joined()))
        }
        refusesOthers = true
    }
}

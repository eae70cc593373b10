import AppDefinition
public import AppRegistry
public import HTTPServer

extension CORSPolicy {
    /// Pages may call from the origins that the path's app allows (`allowed_request_origins`). As on Atlas, an app that names none
    /// may be called from anywhere, and one that names some is closed to all others: their requests are refused. A path without
    /// an app takes the origins of all apps: what it does depends on the bearer token, which a page of another app doesn't have.
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

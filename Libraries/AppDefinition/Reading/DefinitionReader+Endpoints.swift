import DocumentModel

extension DefinitionReader {
    static let endpointMethods = ["GET", "POST", "PUT", "PATCH", "DELETE", "*"]
    /// The paths of the data API, which another service has.
    private static let dataAPI = "/data/v1/action/"

    private static let endpointFiles = ["http_endpoints/config.json", "https_endpoints/config.json"]

    /// Some versions of the vendor's tool call the folder `https_endpoints`. Many exports have both, of which one is empty.
    static func endpointFile(_ log: ProblemLog) -> String {
        endpointFiles.first { log.value($0)?.arrayValue?.isEmpty == false }
            ?? endpointFiles.first { log.text($0) != nil } ?? endpointFiles[0]
    }

    /// `http_endpoints/config.json`, in the newer layout only. An endpoint with a restriction that isn't supported stays disabled.
    func httpEndpoints() -> [HTTPEndpoint] {
        let file = Self.endpointFile(log)
        guard let nodes = json(file)?.elements else { return [] }
        for other in Self.endpointFiles where !other.hasSameBytes(as: file) {
            guard let entries = log.value(other)?.arrayValue, !entries.isEmpty else { continue }
            log.add(
                .partShadowed, severity: .warning, file: other,
                "its \(entries.count == 1 ? "endpoint isn't" : "\(entries.count) endpoints aren't") served: \(file) has some, too; put all of them there"
            )
        }
        return nodes.compactMap { node in
            guard let route = node.required("route"), let function = node.required("function_name") else { return nil }
            var endpoint = HTTPEndpoint(
                route: route.startsWithBytes(of: "/") ? route : "/" + route,
                method: (node.string("http_method") ?? "*").uppercased(), functionName: function, validation: .none,
                respondsWithResult: node.bool("respond_result"), isDisabled: node.bool("disabled"),
                createsUsers: node.bool("create_user_on_auth"),
                returnsExtendedJSON: returnsExtendedJSON(node))
            switch validation(node) {
            case .success(let validation): endpoint.validation = validation
            case .failure(let obstacle): disable(&endpoint, node, at: obstacle.key, obstacle.reason)
            }
            if !Self.endpointMethods.containsExactly(endpoint.method) {
                disable(&endpoint, node, at: "http_method", "the method \(endpoint.method) is unknown")
            }
            if endpoint.route.startsWithBytes(of: Self.dataAPI) {
                disable(&endpoint, node, at: "route", "its path belongs to the data API: choose another one")
            }
            for key in ["run_as_user_id", "run_as_user_id_script_source"] where node.string(key)?.isEmpty == false {
                disable(&endpoint, node, at: key, "\(key) isn't supported here: set run_as_user_id of its function")
            }
            if let rule = node.child("can_evaluate")?.value, rule != true, rule.documentValue?.fields.isEmpty != true {
                disable(
                    &endpoint, node, at: "can_evaluate", "can_evaluate isn't supported here: set that of its function")
            }
            checkRoute(endpoint, node)
            return endpoint
        }
    }

    /// Routes are compared with the paths of requests byte by byte.
    private func checkRoute(_ endpoint: HTTPEndpoint, _ node: ConfigNode) {
        if endpoint.isDisabled { return }
        let problem: String? =
            if endpoint.route.utf8.contains(where: { "?#".utf8.contains($0) }) {
                "no path has a ? or #, so it is never called: the function finds a request's query in its own argument"
            } else if endpoint.route.utf8.contains(where: { "*{}".utf8.contains($0) })
                || endpoint.route.split(separator: "/").contains(where: { $0.startsWithBytes(of: ":") })
            {
                "routes have no parameters, so it is only called with this very text: pass values in the query"
            } else {
                nil
            }
        guard let problem else { return }
        node.problem(
            .fieldValue, severity: .warning, at: "route",
            "the endpoint \(endpoint.method) \(endpoint.route): \(problem)")
    }

    /// Why an endpoint can't be served.
    struct Obstacle: Error {
        let key: String
        let reason: String
    }

    private func validation(_ node: ConfigNode) -> Result<HTTPEndpoint.Validation, Obstacle> {
        let name = node.string("secret_name") ?? ""
        return validation(
            node.string("validation_method") ?? "", name.isEmpty ? nil : .named(name), signature: "Endpoint-Signature",
            key: "validation_method")
    }

    /// - Parameters:
    ///   - signature: the header that has the body's signature.
    ///   - key: where the method is set, for messages.
    func validation(
        _ method: String, _ secret: HTTPEndpoint.Secret?, signature: String, key: String
    ) -> Result<HTTPEndpoint.Validation, Obstacle> {
        switch (method, secret) {
        case ("", _), ("NO_VALIDATION", _): .success(.none)
        case ("SECRET_AS_QUERY_PARAM", let secret?): .success(.secretInQuery(secret))
        case ("VERIFY_PAYLOAD", let secret?): .success(.signedBody(secret, header: signature))
        case ("SECRET_AS_QUERY_PARAM", _), ("VERIFY_PAYLOAD", _):
            .failure(Obstacle(key: key, reason: "\(method) needs secret_name, the name of a secret"))
        default: .failure(Obstacle(key: key, reason: "the validation \(method) is unknown"))
        }
    }

    private func disable(_ endpoint: inout HTTPEndpoint, _ node: ConfigNode, at key: String, _ reason: String) {
        if endpoint.isDisabled { return }
        endpoint.refuse()
        node.problem(
            .endpointNotServed, severity: .warning, at: key,
            "the endpoint \(endpoint.method) \(endpoint.route) isn't served: \(reason)")
    }

    /// Whether answers are Extended JSON: `return_type`, JSON without one.
    func returnsExtendedJSON(_ node: ConfigNode) -> Bool {
        let type = node.string("return_type") ?? ""
        if !["", "JSON", "EJSON"].contains(type.uppercased()) {
            node.problem(
                .fieldValue, severity: .warning, at: "return_type", "is neither JSON nor EJSON: answers are JSON")
        }
        return type.uppercased().hasSameBytes(as: "EJSON")
    }
}

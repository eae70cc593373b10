import DocumentModel

extension DefinitionReader {
    private static let webhookFolder = "incoming_webhooks"
    /// The services that had webhooks, with what their functions get.
    private static let payloads: [ExactText: Webhook.Payload] = ["http": .request, "twilio": .form]

    /// Reads `incoming_webhooks` of the services in both layouts. The functions of webhooks join the app's own.
    func readWebhooks(into definition: inout AppDefinition) {
        for folder in ["services", "data_sources", "http_endpoints"] {
            for service in files.folders(in: folder) {
                let path = "\(folder)/\(service)/\(Self.webhookFolder)"
                let settings = json("\(folder)/\(service)/config.json")
                for hook in files.folders(in: path) {
                    guard let node = json("\(path)/\(hook)/config.json") else { continue }
                    let name = node.string("name") ?? hook
                    let webhook = Webhook(
                        service: settings?.string("name") ?? service, name: name,
                        endpoint: webhookEndpoint(node, function: "\(path)/\(hook)"), payload: .request)
                    add(webhook, node, type: settings?.string("type") ?? "http", to: &definition)
                }
            }
        }
    }

    private func add(_ webhook: Webhook, _ node: ConfigNode, type: String, to definition: inout AppDefinition) {
        var webhook = webhook
        let path = webhook.endpoint.functionName
        guard let source = files["\(path)/source.js"] else {
            return refuse(webhook, node, at: nil, "its source.js is missing")
        }
        guard let payload = Self.payloads[type] else {
            return refuse(webhook, node, at: nil, "those of services of type \(type) aren't: use an HTTPS endpoint")
        }
        webhook.payload = payload
        switch webhookValidation(node) {
        case .success(let validation): webhook.endpoint.validation = validation
        case .failure(let obstacle): return refuse(webhook, node, at: obstacle.key, obstacle.reason)
        }
        guard (Self.endpointMethods + ["HEAD"]).containsExactly(webhook.endpoint.method) else {
            return refuse(webhook, node, at: "options", "the method \(webhook.endpoint.method) is unknown")
        }
        guard definition.webhook(webhook.name, of: webhook.service) == nil else {
            return refuse(webhook, node, at: "name", "another one of the service has its name")
        }
        let user = node.string("run_as_user_id") ?? ""
        let script = node.string("run_as_user_id_script_source") ?? ""
        let runsAsCaller = node.bool("run_as_authed_user")
        var function = FunctionDefinition(
            name: path, file: "\(path)/source.js", settingsFile: node.file, source: source, isPrivate: true,
            runsAsSystem: !runsAsCaller && user.isEmpty && script.isEmpty, runAsUserId: user.isEmpty ? nil : user,
            canEvaluate: node.child("can_evaluate").map { _ in node.rule("can_evaluate") ?? .never },
            hidesArguments: node.bool("disable_arg_logs"), isListed: true)
        if runsAsCaller {
            function.runAsUserId = nil
            if node.bool("create_user_on_auth") {
                node.problem(
                    .fieldValue, severity: .warning, at: "create_user_on_auth",
                    "a webhook creates no users: its caller signs in first, and sends the access token")
            }
        }
        definition.functions += runsAsCaller ? [function] : withUserFunction(function, node)
        definition.webhooks.append(webhook)
    }

    private func webhookEndpoint(_ node: ConfigNode, function: String) -> HTTPEndpoint {
        let method = node.child("options")?.string("httpMethod")?.uppercased() ?? ""
        return HTTPEndpoint(
            route: "/" + function, method: method.isEmpty || method == "ANY" ? "*" : method, functionName: function,
            validation: .none, respondsWithResult: node.bool("respond_result"), isDisabled: node.bool("disabled"),
            createsUsers: node.bool("create_user_on_auth"), returnsExtendedJSON: true)
    }

    /// A webhook has its secret in plain text, or names one of the app.
    private func webhookValidation(_ node: ConfigNode) -> Result<HTTPEndpoint.Validation, Obstacle> {
        let options = node.child("options")
        let name = options?.string("secret_name") ?? ""
        let text = options?.string("secret") ?? ""
        let method = options?.string("validationMethod") ?? ""
        if method.isEmpty, !name.isEmpty || !text.isEmpty {
            return .failure(Obstacle(key: "options", reason: "it has a secret, and no validationMethod that checks it"))
        }
        return validation(
            method, name.isEmpty ? text.isEmpty ? nil : .text(text) : .named(name), signature: "X-Hook-Signature",
            key: "options")
    }

    private func refuse(_ webhook: Webhook, _ node: ConfigNode, at key: String?, _ reason: String) {
        node.problem(
            .endpointNotServed, severity: .warning, at: key,
            "the webhook \(webhook.name) of \(webhook.service) isn't served: \(reason)")
    }
}

import DocumentModel

/// Warns of each part of an export that isn't supported here, with its file and what to do instead, so that developers don't find
/// out only in operation.
struct UnservedFeatures {
    let definition: AppDefinition
    let log: ProblemLog
    private var files: AppFiles { definition.files }

    /// The providers that `auth` supports.
    static let servedProviders = OAuthSettings.types.union([
        "local-userpass", "anon-user", "api-key", "custom-function", "custom-token",
    ])

    init(_ definition: AppDefinition, log: ProblemLog) {
        self.definition = definition
        self.log = log
    }

    func report() {
        reportProviders()
        reportServices()
        PackageUses(definition: definition, log: log).report()
        reportFolders()
        OverlookedParts(definition, log: log).report()
        UsedServices(definition, log: log).report()
        UnservedCalls(definition: definition, log: log).report()
        SecretsInClear(definition, log: log).report()
        if files["secrets.json"] != nil {
            warn(
                "secrets.json",
                "secrets in clear text aren't read, and this version's history and its exports have them: `partita secret set` sets them; delete the file, it may be in a backup or a repository, and change the secrets"
            )
        }
    }

    private func reportProviders() {
        let all = "auth/providers.json"
        for provider in definition.authProviders
        where !provider.isDisabled && !Self.servedProviders.contains(provider.type) {
            let isListed = files[all] != nil
            warn(
                isListed ? all : "auth_providers/\(provider.name).json", pointer: isListed ? "/\(provider.name)" : "",
                "sign-in with \(provider.type) isn't served: use custom-token with the tokens of the identity provider and the key set that it publishes (jwkURI), or disable it"
            )
        }
    }

    private func reportServices() {
        for source in definition.dataSources where source.kind == nil {
            warn(
                source.file, pointer: "/type",
                "the service \(source.name) of type \(source.type) isn't served, and calls of it throw: call the vendor's HTTP interface with context.http"
            )
        }
        VendorServices(definition, log: log).report()
    }

    private func reportFolders() {
        for file in files.files(in: "graphql/custom_resolvers", suffix: ".json") {
            let resolver = value(file)
            let name = ["on_type", "field_name"].compactMap { resolver?[$0]?.stringValue }.joined(separator: ".")
            warn(
                file, pointer: resolver?["field_name"] == nil ? "" : "/field_name",
                "GraphQL isn't served, so that nothing calls the resolver \(name): have clients call its function")
        }
        for file in files.files(in: "graphql", suffix: ".json") {
            warn(
                file, "GraphQL isn't served: clients use sync, functions, remote access to collections or the data API")
        }
        for file in files.files(in: "log_forwarders", suffix: ".json") {
            warn(
                file,
                "log forwarders aren't served: collect the services' logs, which are lines of JSON, and `partita logs`")
        }
        for file in files.files(in: "push", suffix: ".json") {
            warn(
                file,
                "push messages aren't sent: devices register, and a sender of your own reads the topic push-registrations, or a function sends with context.http"
            )
        }
    }

    /// The parsed file; `nil` when it doesn't exist or is malformed, which is logged.
    private func value(_ file: String) -> Value? { log.value(file, severity: .warning) }

    private func warn(_ file: String, pointer: String = "", _ message: String) {
        log.add(.featureNotServed, severity: .warning, file: file, pointer: pointer, message)
    }
}

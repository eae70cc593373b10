public import AppDefinition
public import DocumentModel
public import FunctionProtocol

/// The `context` of a run, as a document for the host.
public struct FunctionContext: Sendable {
    public var app: AppDefinition
    /// The calling user; `nil` when the system calls.
    public var user: RuleUser?
    public var isSystem: Bool
    /// `context.request`.
    public var request: Document?

    public init(app: AppDefinition, user: RuleUser? = nil, isSystem: Bool, request: Document? = nil) {
        self.app = app
        self.user = user
        self.isSystem = isSystem
        self.request = request
    }

    public var document: Document {
        var document: Document = [
            "app": .document([
                "id": .string(app.id), "clientAppId": .string(app.id), "name": .string(app.name),
                "deployment": ["providerRegion": .string(app.location), "model": .string(app.deploymentModel)],
            ]),
            "environment": .document(["tag": .string(app.environmentTag), "values": .document(app.environmentValues)]),
            "values": .document(
                Document(fields: app.values.compactMap { value in app.value(value.name).map { .init(value.name, $0) } })
            ),
            "unsetSecrets": .document(
                Document(
                    fields: app.values.filter { $0.isFromSecret && app.value($0.name) == nil }
                        .map { .init($0.name, $0.value) })),
            "user": .document(
                user?.document ?? ["id": .string(""), "type": .string("system"), "data": .document([:])]),
            "runningAsSystem": .bool(isSystem),
            "systemFunctions": .array(app.functions.filter(\.runsAsSystem).map { .string($0.name) }),
            "services": .document(
                Document(
                    fields: app.dataSources.map {
                        .init($0.name, .string($0.kind?.rawValue ?? $0.type))
                    })),
        ]
        document["request"] = request.map { .document($0) }
        return document
    }
}

extension FunctionBundle {
    /// The functions and packages of an app's version.
    public init(_ app: AppDefinition, version: Int64) {
        self.init(
            app: app.id, version: version, functions: app.functions.map { Source(name: $0.name, text: $0.source) },
            modules: app.files.packages.texts)
    }
}

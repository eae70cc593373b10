public import DocumentModel

/// The user for whom a rule is evaluated.
public struct RuleUser: Sendable {
    public var id: String
    /// `normal` or `server`.
    public var type: String
    public var data: Document
    public var customData: Document
    /// The user's identities, each `{id, provider_type}`.
    public var identities: [Document]

    public init(
        id: String, type: String = "normal", data: Document = Document(), customData: Document = Document(),
        identities: [Document] = []
    ) {
        self.id = id
        self.type = type
        self.data = data
        self.customData = customData
        self.identities = identities
    }

    /// The user in the form of `%%user` and of a function's `context.user`.
    public var document: Document {
        [
            "id": .string(id), "type": .string(type), "data": .document(data), "custom_data": .document(customData),
            "identities": .array(identities.map(Value.document)),
        ]
    }
}

/// The values of a rule's expansions. An absent part counts as missing, not as null.
public struct RuleContext: Sendable {
    public var user: RuleUser?
    /// `%%partition`, the value of the partition key.
    public var partition: Value?
    /// `%%root`, the document as it is after the operation.
    public var root: Document?
    /// `%%prevRoot`, the document as it was before the operation.
    public var previousRoot: Document?
    /// `%%this`, the value of the field for which a field's rule is evaluated.
    public var this: Value?
    /// `%%prev`, that field's value before the operation.
    public var previous: Value?
    /// `%%args`.
    public var arguments: Document?
    /// `%%request`.
    public var request: Document?
    /// `%%values`: the app's values by name, without those from secrets.
    public var values: Document
    public var environmentTag: String
    public var environmentValues: Document

    public init(
        user: RuleUser? = nil, partition: Value? = nil, root: Document? = nil, previousRoot: Document? = nil,
        this: Value? = nil, previous: Value? = nil, arguments: Document? = nil, request: Document? = nil,
        values: Document = Document(), environmentTag: String = "", environmentValues: Document = Document()
    ) {
        self.user = user
        self.partition = partition
        self.root = root
        self.previousRoot = previousRoot
        self.this = this
        self.previous = previous
        self.arguments = arguments
        self.request = request
        self.values = values
        self.environmentTag = environmentTag
        self.environmentValues = environmentValues
    }

    /// A context with the app's values and environment.
    public init(app: AppDefinition, user: RuleUser? = nil, partition: Value? = nil, root: Document? = nil) {
        self.init(
            user: user, partition: partition, root: root,
            values: Document(
                fields: app.values.filter { !$0.isFromSecret }.map { Document.Field($0.name, $0.value) }),
            environmentTag: app.environmentTag, environmentValues: app.environmentValues)
    }

    /// The value of an expansion, `nil` when it is missing.
    func value(of expansion: RuleExpansion) -> Value? {
        let base: Value? =
            switch expansion.root {
            case .true: .bool(true)
            case .false: .bool(false)
            case .values: .document(values)
            case .environment: .document(["tag": .string(environmentTag), "values": .document(environmentValues)])
            case .request: request.map(Value.document)
            case .user: user.map { .document($0.document) }
            case .root: root.map(Value.document)
            case .prevRoot: previousRoot.map(Value.document)
            case .this: this
            case .prev: previous
            case .args: arguments.map(Value.document)
            case .partition: partition
            }
        return base?.value(at: expansion.path[...])
    }
}

extension Value {
    /// The value at a path. In an array, a path component is an index; any other component yields an array of the elements' values.
    func value(at path: ArraySlice<String>) -> Value? {
        guard let key = path.first else { return self }
        switch self {
        case .document(let document): return document[key]?.value(at: path.dropFirst())
        case .array(let items):
            if let index = Int(key) {
                return items.indices.contains(index) ? items[index].value(at: path.dropFirst()) : nil
            }
            let found = items.compactMap { $0.value(at: path) }
            return found.isEmpty ? nil : .array(found)
        default: return nil
        }
    }
}

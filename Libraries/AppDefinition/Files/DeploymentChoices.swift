public import DocumentModel

/// What the operator decides at a deployment, because no file of the app says it. It is stored with the app's files.
public struct DeploymentChoices: Hashable, Sendable {
    /// The app's id, in place of the one that the files give; `nil` leaves it to the files.
    public var appId: ExactText?
    /// The field by which an app with flexible sync is synced in partitions; `nil` leaves such an app without sync.
    public var syncBy: ExactText?

    /// Creates choices; by default the files decide everything.
    public init(appId: String? = nil, syncBy: String? = nil) {
        self.appId = appId.map { ExactText($0) }
        self.syncBy = syncBy.map { ExactText($0) }
    }

    /// The choices as a document, without those that were not made.
    var document: Document {
        var document = Document()
        document["appId"] = appId.map { .string($0.text) }
        document["syncBy"] = syncBy.map { .string($0.text) }
        return document
    }

    init(document: Document) {
        self.init(appId: document["appId"]?.stringValue, syncBy: document["syncBy"]?.stringValue)
    }
}

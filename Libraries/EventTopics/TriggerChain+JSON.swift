public import DocumentModel

extension TriggerChain {
    /// The field of events that has the chain.
    public static let field = "causedBy"

    /// The chain as a document: `{event, triggers: [{name, runs}]}`.
    public func encoded() -> Document {
        [
            "event": .string(beginning),
            "triggers": .array(links.map { ["name": .string($0.trigger), "runs": .int64($0.runs)] }),
        ]
    }

    /// Reads a chain.
    /// - Throws: `EventTopicsError` for a field that is missing or has another type.
    public init(_ document: Document) throws(EventTopicsError) { try self.init(FieldReader(document)) }

    init(_ reader: FieldReader) throws(EventTopicsError) {
        var links: [Link] = []
        for element in try reader.required("triggers", \.arrayValue) {
            guard let name = element["name"]?.stringValue, let runs = element["runs"]?.int64Value else {
                throw reader.wrongType("triggers")
            }
            links.append(Link(trigger: name, runs: runs))
        }
        self.init(beginning: try reader.string("event"), links: links)
    }
}

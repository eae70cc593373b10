import AppDefinition
public import DocumentModel
import DocumentSchema
public import DocumentStore
import Postgres

/// What a changed schema of a collection means for the documents that are stored, and for devices that write as before.
public struct SchemaImpact: Sendable {
    public let namespace: ChangeEvent.Namespace
    /// How many documents were looked at: at most `AppDeployments.schemaScanLimit`.
    public let scanned: Int
    /// Whether these are all.
    public let isComplete: Bool
    /// How many of them the new schema refuses for something that the former one allows.
    public let broken: Int
    /// How many of them the new schema refuses for nothing else than the former one.
    public let refusedBefore: Int
    /// The `_id` of one of them, and why it isn't valid.
    public let example: (id: Value, reason: String)?
    /// The fields that are newly required.
    public let newlyRequired: [String]
    /// The devices that have written to the collection's partitions in the last 30 days, if it newly requires something.
    public let devices: [DocumentStore.DeviceGroup]

    /// Whether changes of documents would be rejected.
    public var isBreaking: Bool { broken > 0 }

    var lines: [String] {
        let name = "\(namespace.database).\(namespace.collection)"
        let what = isComplete ? "\(scanned)" : "the first \(scanned)"
        var lines: [String] = []
        if broken > 0 {
            let why = example.map { "; \(ExtendedJSON.print($0.id, mode: .relaxed)): \($0.reason)" } ?? ""
            lines.append("\(broken) of \(what) documents of \(name) violate its new schema\(why)")
        }
        if refusedBefore > 0 {
            lines.append(
                "\(refusedBefore) of \(what) documents of \(name) violate its present schema, and the new one as well: changes of them are rejected until they are valid"
            )
        }
        let count = devices.reduce(0) { $0 + $1.count }
        if !newlyRequired.isEmpty, count > 0 {
            let versions = devices.map(\.text).joined(separator: ", ")
            lines.append(
                "\(name) newly requires \(newlyRequired.joined(separator: ", ")): \(count) devices have written there in the last 30 days (\(versions)), and what they insert without it is rejected until they have a new version of the app"
            )
        }
        return lines
    }
}

extension AppDeployments {
    /// The most documents of a collection that are checked against a new schema.
    public static let schemaScanLimit = 100_000

    func schemaImpacts(
        of definition: AppDefinition, after former: AppDefinition?, in store: DocumentStore
    ) async throws -> [SchemaImpact] {
        let before = former?.schemas ?? [:]
        var impacts: [SchemaImpact] = []
        for (namespace, schema) in definition.schemas.sorted(by: { $0.key.name < $1.key.name }) {
            let old = before[namespace]
            if let old, old.source == schema.source { continue }
            let impact = try await impact(of: schema, after: old, on: namespace, app: definition.id, in: store)
            if !impact.lines.isEmpty { impacts.append(impact) }
        }
        return impacts
    }

    private func impact(
        of schema: DocumentSchema, after old: DocumentSchema?, on namespace: ChangeEvent.Namespace, app: String,
        in store: DocumentStore
    ) async throws -> SchemaImpact {
        var (scanned, broken, refusedBefore) = (0, 0, 0)
        var example: (id: Value, reason: String)?
        try await store.collection(namespace.collection, database: namespace.database, app: app).forEach(
            [:], options: FindOptions(limit: Self.schemaScanLimit)
        ) { document in
            scanned += 1
            let violations = schema.allViolations(in: document)
            if violations.isEmpty { return true }
            let known = old?.allViolations(in: document) ?? []
            guard let violation = violations.first(where: { violation in !known.contains { violation.isLike($0) } })
            else {
                refusedBefore += 1
                return true
            }
            broken += 1
            if example == nil { example = (document["_id"] ?? .null, violation.description) }
            return true
        }
        let former = Set(texts: old?.requiredFields ?? [])
        let added = old == nil ? [] : schema.requiredFields.filter { !former.contains($0) && $0 != "_id" }
        return SchemaImpact(
            namespace: namespace, scanned: scanned, isComplete: scanned < Self.schemaScanLimit, broken: broken,
            refusedBefore: refusedBefore, example: example, newlyRequired: added,
            devices: added.isEmpty ? [] : try await store.recentDevices(of: namespace, app: app))
    }
}

extension DocumentStore.DeviceGroup {
    fileprivate var text: String {
        switch schemaVersion {
        case nil: "\(count) of unknown schema version"
        case 0?: "\(count) without a schema version"
        case let version?: "\(count) with schema version \(version)"
        }
    }
}

extension ChangeEvent.Namespace {
    var name: String { "\(database).\(collection)" }
}

extension DocumentSchema.Violation {
    /// Whether both are about the same field, or say the same of the document.
    fileprivate func isLike(_ other: Self) -> Bool {
        self == other || !path.isEmpty && path.hasSameBytes(as: other.path)
    }
}

extension DocumentSchema {
    /// All that keeps a document from being stored.
    fileprivate func allViolations(in document: Document) -> [Violation] {
        guard let first = firstViolation(in: document) else { return [] }
        return (try? violations(in: .document(document))) ?? [first]
    }

    /// The top-level fields that every document must have.
    var requiredFields: [String] { (source["required"]?.arrayValue ?? []).compactMap(\.stringValue) }
}

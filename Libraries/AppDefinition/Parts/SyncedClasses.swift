public import DocumentModel
public import RealmSync

/// The classes that the Realm SDKs make of an app's synced collections.
public struct SyncedClasses: Sendable {
    public let schema: ObjectSchema
    /// The collections' names by those of their classes.
    public let collections: [ExactText: String]
    /// The names of classes by those of their collections.
    public let classes: [ExactText: String]
    /// What of the schemas is in no class.
    public let unfit: [UnfitSchema]
    /// The collections that have a class, with what declares them.
    let declarations: [(collection: CollectionClass, definition: CollectionDefinition)]

    init(_ definition: AppDefinition) {
        var seen: Set<ExactText> = []
        // Services of one cluster may declare a collection twice.
        let synced = definition.collections.filter {
            definition.syncVerdict(of: $0) == .synced && seen.insert(ExactText($0.name)).inserted
        }.compactMap { collection in
            collection.schema.map { schema in
                (
                    collection: CollectionClass(
                        collection: collection.name, schema: schema.source,
                        relationships: Dictionary(
                            collection.relationships.map { (ExactText($0.field), ExactText($0.collection)) }
                        ) { first, _ in first }), definition: collection
                )
            }
        }
        (schema, unfit) = ObjectSchema.reading(synced.map(\.collection))
        let schema = schema
        declarations = synced.filter { schema.classes[ExactText($0.collection.name)] != nil }
        let known = declarations.map(\.collection)
        collections = Dictionary(known.map { (ExactText($0.name), $0.collection) }) { first, _ in first }
        classes = Dictionary(known.map { (ExactText($0.collection), $0.name) }) { first, _ in first }
    }
}

extension AppDefinition {
    /// The classes of the collections that sync; none if sync is off.
    public var syncedClasses: SyncedClasses { SyncedClasses(self) }
}

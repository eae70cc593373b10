import DocumentModel
public import RealmSync

/// Why classes of a client can't be added to an app's schemas.
public struct ClassesRefused: Error, Hashable, Sendable, CustomStringConvertible {
    /// For the developer of the client: it names only what the client has.
    public let description: String

    public init(description: String) { self.description = description }
}

extension AppFiles {
    /// The most classes that clients may give an app, and the most properties of all classes: a new client's are merged with them, each with
    /// each.
    static let classLimit = 200
    static let propertyLimit = 2000
    /// The largest file with a schema that clients may make, in bytes.
    static let classFileLimit = 1 << 20

    /// The app with what its schemas lack for the classes of a client with a Realm SDK; this is what development mode does.
    ///
    /// Classes that no collection has become collections of their name in the synced database. What the schemas say already stays.
    /// - Parameter definition: What these files declare.
    /// - Returns: The files, and the names of the new collections.
    /// - Throws: ``ClassesRefused``, also for a class that has the name of a collection that doesn't sync: a client can't change that.
    public func adding(
        _ classes: ObjectSchema, to definition: AppDefinition
    ) throws(ClassesRefused) -> (files: AppFiles, collections: [String]) {
        guard let sync = definition.sync, sync.isEnabled, sync.isInDevelopment else {
            throw ClassesRefused(description: "the app isn't in development mode")
        }
        let synced = definition.syncedClasses
        guard let wanted = synced.schema.joined(with: classes) else {
            throw ClassesRefused(description: "the app has a class or property of the same name that is different")
        }
        try Self.check(wanted)
        var files = self, added: [String] = []
        let places = SchemaPlaces(files: self, sync: sync)
        for collection in try lacking(in: synced, wanted, sync) {
            if let known = synced.declarations.first(where: {
                $0.collection.collection.hasSameBytes(as: collection.collection)
            }) {
                places.write(collection, of: known.definition, to: &files)
                continue
            }
            if definition.collections.contains(where: {
                $0.name.hasSameBytes(as: collection.collection) && $0.database.hasSameBytes(as: sync.database)
            }) {
                throw ClassesRefused(
                    description:
                        "the app has a collection \(collection.collection) that doesn't sync, or not this class: only a deployment changes that"
                )
            }
            added.append(collection.collection)
            places.write(collection, of: nil, to: &files)
        }
        try files.requireSize(beyond: self)
        // Read again, since what it says is what counts.
        let read = AppDefinition.inspect(files).definition.syncedClasses.schema
        guard read.includes(wanted) else {
            let names = wanted.names(beyond: read).prefix(3).joined(separator: ", ")
            throw ClassesRefused(
                description: "no schema can describe \(names.isEmpty ? "a property" : String(names.prefix(200)))")
        }
        return (files, added)
    }

    /// What a deployment takes, and an export can bring back.
    private func requireSize(beyond former: AppFiles) throws(ClassesRefused) {
        let large = texts.contains { $0.value.utf8.count > Self.classFileLimit && former.texts[$0.key] != $0.value }
        let total = texts.reduce(0) { $0 + $1.value.utf8.count }
        guard !large, total <= Self.totalLimit else {
            throw ClassesRefused(
                description:
                    "the schemas would be too large: embedded objects are described wherever they are; deploy the app's schema"
            )
        }
    }

    private func lacking(
        in synced: SyncedClasses, _ wanted: ObjectSchema, _ sync: SyncConfiguration
    ) throws(ClassesRefused) -> [CollectionClass] {
        do throws(UnwritableSchema) {
            return try wanted.lacking(
                in: synced.declarations.map(\.collection),
                partitionKey: PartitionKeyProperty(
                    name: sync.partitionKey, type: sync.partitionType.rawValue, isRequired: !sync.hasNullPartition))
        } catch {
            throw ClassesRefused(description: error.description)
        }
    }

    /// The names become those of files and fields.
    private static func check(_ schema: ObjectSchema) throws(ClassesRefused) {
        let count = schema.classes.reduce(0) { $0 + $1.value.properties.count }
        guard schema.classes.count <= classLimit, count <= propertyLimit else {
            throw ClassesRefused(
                description:
                    "the app would have more than \(classLimit) classes or \(propertyLimit) properties; deploy its schema"
            )
        }
        var folded: Set<ExactText> = []
        for name in schema.classes.keys where !folded.insert(ExactText(name.text.lowercased())).inserted {
            throw ClassesRefused(description: "the names of two classes differ only in case: \(name.text.prefix(100))")
        }
        for (name, type) in schema.classes {
            let isName = name.text.unicodeScalars.allSatisfy {
                $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType != nil
            }
            guard isName, !name.text.isEmpty else {
                throw ClassesRefused(description: "the name of a class has letters, digits and underscores only")
            }
            for (field, _) in type.properties {
                let isField =
                    !field.text.isEmpty
                    && !field.text.unicodeScalars.contains {
                        $0 == "." || [.control, .format].contains($0.properties.generalCategory)
                    }
                guard isField, field.text.utf8.first != UInt8(ascii: "$") else {
                    throw ClassesRefused(
                        description:
                            "the name of a property of \(name) is empty, begins with $, or has a dot or an invisible character"
                    )
                }
            }
        }
    }
}

import DocumentModel
import RealmSync

/// Where schemas of synced collections stand in an app's files, in each layout of exports.
struct SchemaPlaces {
    private let files: AppFiles
    private let sync: SyncConfiguration

    init(files: AppFiles, sync: SyncConfiguration) {
        self.files = files
        self.sync = sync
    }

    /// Writes a collection's schema and relationships.
    /// - Parameter known: The collection as the files declare it; `nil` for a new one.
    func write(_ collection: CollectionClass, of known: CollectionDefinition?, to files: inout AppFiles) {
        let place = known.map { ($0.place, $0.isFolder) } ?? place(of: collection.collection)
        let relationships = relationships(of: collection, besides: known?.relationships ?? [])
        if place.1 {
            files.texts[ExactText("\(place.0)/schema.json")] = ConfigText.print(.document(collection.schema))
            guard !relationships.isEmpty else { return }
            let file = "\(place.0)/relationships.json"
            var all = document(in: file, of: files)
            all.merge(relationships.fields)
            files.texts[ExactText(file)] = ConfigText.print(.document(all))
        } else {
            var rules = document(in: place.0, of: files)
            if known == nil {
                rules["database"] = .string(sync.database)
                rules["collection"] = .string(collection.collection)
            }
            rules["schema"] = .document(collection.schema)
            if !relationships.isEmpty {
                var all = rules["relationships"]?.documentValue ?? Document()
                all.merge(relationships.fields)
                rules["relationships"] = .document(all)
            }
            files.texts[ExactText(place.0)] = ConfigText.print(.document(rules))
        }
    }

    private func document(in file: String, of files: AppFiles) -> Document {
        files[file].flatMap { try? ConfigText.parse($0).value.documentValue } ?? Document()
    }

    /// The place of a new collection, and whether that is a folder: where the service has the others.
    private func place(of collection: String) -> (String, Bool) {
        for folder in files.folders(in: "services") where isSynced(folder, in: "services") {
            guard !files.folders(in: "data_sources").contains(where: { isSynced($0, in: "data_sources") }) else {
                break
            }
            return ("services/\(folder)/rules/\(sync.database).\(collection).json", false)
        }
        let folder = files.folders(in: "data_sources").first { isSynced($0, in: "data_sources") }
        return ("data_sources/\(folder ?? sync.service)/\(sync.database)/\(collection)", true)
    }

    private func isSynced(_ folder: String, in parent: String) -> Bool {
        let name = document(in: "\(parent)/\(folder)/config.json", of: files)["name"]?.stringValue ?? folder
        return name.hasSameBytes(as: sync.service)
    }

    private func relationships(
        of collection: CollectionClass, besides known: [CollectionDefinition.Relationship]
    ) -> Document {
        var relationships = Document()
        for (field, target) in collection.relationships.sorted(by: { $0.key < $1.key })
        where !known.contains(where: { $0.field.hasSameBytes(as: field.text) }) {
            relationships[field.text] = [
                "ref": .string("#/relationship/\(sync.service)/\(sync.database)/\(target)"), "foreign_key": "_id",
                "is_list": .bool(Self.isList(field.text, in: collection.schema)),
            ]
        }
        return relationships
    }

    /// Whether a property is an array.
    /// - Parameter path: Names with dots, without those of elements.
    private static func isList(_ path: String, in schema: Document) -> Bool {
        var node = schema, isList = false
        for name in path.splitAtBytes(".") {
            guard let property = node["properties"]?[name]?.documentValue else { return false }
            let elements = (property["items"] ?? property["additionalProperties"])?.documentValue
            isList = property["items"] != nil
            node = elements ?? property
        }
        return isList
    }
}

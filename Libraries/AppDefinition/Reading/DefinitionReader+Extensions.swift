import DocumentModel

extension DefinitionReader {
    /// `partita.json`: what Partita adds to the export format. The page in `AppDefinition.docc` describes it.
    func readExtensions(into definition: inout AppDefinition) {
        guard let node = json("partita.json") else { return }
        node.checkFields(["presence", "media", "indexes", "services"])
        let database = definition.sync?.database
        if let presence = node.child("presence") {
            definition.presence = self.presence(presence, database: database)
            definition.presenceWatch = presenceWatch(presence)
        }
        definition.media = node.child("media")?.elements.compactMap { media($0, database: database) } ?? []
        definition.indexes = node.child("indexes")?.elements.compactMap { index($0, database: database) } ?? []
        for (name, service) in node.child("services")?.entries ?? [] {
            guard
                let index = definition.dataSources.firstIndex(where: {
                    $0.name.hasSameBytes(as: name) && [.aws, .twilio].contains($0.kind)
                })
            else {
                service.problem(
                    .serviceUnknown, "the app has no service \(name) of type aws or twilio: correct the name")
                continue
            }
            definition.dataSources[index].endpoints = endpoints(service, of: definition.dataSources[index])
        }
    }

    /// Where a service is reached: `endpoint`, or `endpoints` with one for each of its interfaces.
    private func endpoints(_ node: ConfigNode, of source: DataSource) -> [ExactText: String] {
        node.checkFields(["endpoint", "endpoints"])
        let parts = node.child("endpoints")
        parts?.checkFields(source.kind == .aws ? AWSInterface.served.map(\.name) : ["twilio"])
        let places = [("", node.child("endpoint"))] + (parts?.entries ?? []).map { ($0.key, $0.node) }
        var endpoints: [ExactText: String] = [:]
        for (interface, place) in places {
            guard let place, let text = place.text else { continue }
            guard text.wholeMatch(of: /https?:\/\/([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\/?/) != nil else {
                place.problem(.fieldValue, "must be http:// or https:// with a host, and a port if need be")
                continue
            }
            endpoints[interface] = text.hasSuffix("/") ? String(text.dropLast()) : text
        }
        return endpoints
    }

    private func place(_ node: ConfigNode, database: String?) -> (database: String, collection: String)? {
        guard let collection = node.required("collection") else { return nil }
        guard let database = node.string("database") ?? database else {
            node.problem(.fieldMissing, "database is missing, and the app has no synced one")
            return nil
        }
        return (database, collection)
    }

    private func presenceWatch(_ node: ConfigNode) -> PresenceWatch {
        guard let child = node.child("watch") else { return .shared }
        guard let watch = child.text.flatMap(PresenceWatch.init) else {
            child.problem(
                .fieldValue, "must be \(PresenceWatch.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or "))")
            return .shared
        }
        return watch
    }

    private func presence(_ node: ConfigNode, database: String?) -> PresenceField? {
        node.checkFields([
            "database", "collection", "field", "userField", "online", "offline", "lastSeenField", "watch",
        ])
        // No document shows presence; the app only sets who may watch it.
        if node.entries.map(\.key) == ["watch"] { return nil }
        guard let place = place(node, database: database), let field = node.required("field") else { return nil }
        return PresenceField(
            database: place.database, collection: place.collection, field: field,
            userField: node.string("userField") ?? "_id", online: node.string("online") ?? "On-Line",
            offline: node.string("offline") ?? "Off-Line", lastSeenField: node.string("lastSeenField"))
    }

    private func media(_ node: ConfigNode, database: String?) -> MediaField? {
        node.checkFields([
            "database", "collection", "field", "linkField", "thumbnailField", "thumbnailPixels", "minimumBytes",
        ])
        guard let place = place(node, database: database), let field = node.required("field"),
            let link = node.required("linkField")
        else { return nil }
        return MediaField(
            database: place.database, collection: place.collection, field: field, linkField: link,
            thumbnailField: node.string("thumbnailField"),
            thumbnailPixels: node.integer("thumbnailPixels", default: 320, in: 16...2048),
            minimumBytes: node.integer("minimumBytes", default: 0, in: 0...16_777_216))
    }

    private func index(_ node: ConfigNode, database: String?) -> IndexDefinition? {
        guard let place = place(node, database: database) else { return nil }
        guard !node.document("key").isEmpty else {
            node.problem(.fieldMissing, "key is missing: the paths of the index, as in {\"author\": 1, \"sent\": -1}")
            return nil
        }
        let options = node.entries.filter { !["database", "collection"].contains($0.key) }
        return IndexDefinition(
            database: place.database, collection: place.collection,
            specification: Document(options.map { ($0.key, $0.node.value) }))
    }
}

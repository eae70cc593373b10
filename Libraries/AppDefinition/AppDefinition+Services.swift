import DocumentModel

extension AppDefinition {
    /// Whether two services are the same database: services of one cluster are, and services whose cluster the export doesn't name.
    public func isSameStore(_ service: String, _ other: String) -> Bool {
        if service.hasSameBytes(as: other) { return true }
        func cluster(_ name: String) -> String? { dataSources.first { $0.name.hasSameBytes(as: name) }?.cluster }
        guard let first = cluster(service), let second = cluster(other) else { return true }
        return first.hasSameBytes(as: second)
    }

    /// Whether the app has a document store of this name. An export without any has one all the same, `mongodb-atlas`.
    public func hasDocumentStore(_ service: String) -> Bool {
        let stores = dataSources.filter(\.isDocumentStore)
        guard !stores.isEmpty else { return service.hasSameBytes(as: "mongodb-atlas") }
        return stores.contains { $0.name.hasSameBytes(as: service) }
    }

    /// The service that declares a collection, if it is of another cluster than the given one, which then can't reach the collection.
    /// `nil` for a collection that no service declares: all services share those.
    public func serviceBeyondReach(of service: String, for namespace: ChangeEvent.Namespace) -> String? {
        collections.first {
            $0.database.hasSameBytes(as: namespace.database) && $0.name.hasSameBytes(as: namespace.collection)
                && !isSameStore($0.service, service)
        }?.service
    }

    /// The collection of this name in this database, as a service declares it; `nil` if that service doesn't declare it.
    public func collection(_ name: String, database: String, service: String) -> CollectionDefinition? {
        collections.first {
            $0.name.hasSameBytes(as: name) && $0.database.hasSameBytes(as: database)
                && $0.service.hasSameBytes(as: service)
        }
    }
}

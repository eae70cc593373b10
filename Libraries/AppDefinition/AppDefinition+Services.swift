import DocumentModel

extension AppDefinition {
    /// Whether two services are the same database: services of one cluster are, and services whose cluster the export doesn't name.
    public func isSameStore(_ service: String, _ other: String) -> Bool {
        if service.hasSameBytes(as: other) { return true }
        func cluster(_ name: String) -> String? { dataSources.first { $0.name.hasSameBytes(as: name) }?.cluster }
        guard let first = cluster(service), let second = cluster(other) else { return true }
        return first.hasSameBytes(as: second)
    }

    /// The collection of this name in this database, as a service declares it; `nil` if that service doesn't declare it.
    public func collection(_ name: String, database: String, service: String) -> CollectionDefinition? {
        collections.first {
            $0.name.hasSameBytes(as: name) && $0.database.hasSameBytes(as: database)
                && $0.service.hasSameBytes(as: service)
        }
    }
}

package import DocumentModel

extension DocumentCollection {
    /// The pipeline with the path of the collection's only geospatial index as the `key` of a `$geoNear` that has none, as MongoDB
    /// chooses it. Any other pipeline is returned as it is.
    ///
    /// - Throws: `DocumentStoreError` (27) if the collection has no such index, or several.
    package func namingPlace(in stages: [Document]) async throws -> [Document] {
        guard case .document(var near)? = stages.first?["$geoNear"], near["key"] == nil else { return stages }
        let paths = try await indexes().compactMap(\.spherePath)
        guard let path = paths.first, paths.count == 1 else {
            let place = "\(namespace.database).\(namespace.collection)"
            throw DocumentStoreError(
                .unknownIndex,
                paths.isEmpty
                    ? "$geoNear requires a 2dsphere index, but \(place) has none: name the path by 'key'"
                    : "There is more than one 2dsphere index on \(place); name the path that $geoNear means by 'key'",
                mongoCode: 27)
        }
        near["key"] = .string(path)
        // By such an index, distances are those on the sphere, also from a pair of coordinates.
        near["spherical"] = true
        return [["$geoNear": .document(near)]] + stages.dropFirst()
    }
}

import AppDefinition
import DocumentModel
import DocumentStore

/// The indexes that an app declares in `partita.json`, and those that only its former version declared.
struct DeclaredIndexes: Sendable {
    let wanted: [DocumentStore.PlacedIndex]
    let gone: [DocumentStore.PlacedIndex]

    /// - Throws: `DeploymentError` with code `indexInvalid` that names the malformed index and the reason.
    init(_ definition: AppDefinition, formerly former: AppDefinition?) throws {
        wanted = try definition.indexes.map { index in
            do throws(DocumentStoreError) {
                return try Self.placed(index)
            } catch {
                throw DeploymentError(
                    .indexInvalid, "partita.json: index \(index.name) of \(index.collection): \(error.message)")
            }
        }
        // One that was once accepted, and isn't now, was never built by this version.
        let before = (former?.indexes ?? []).compactMap { try? Self.placed($0) }
        gone = DocumentStore.gone(before, besides: wanted)
    }

    private static func placed(_ index: IndexDefinition) throws(DocumentStoreError) -> DocumentStore.PlacedIndex {
        .init(
            .init(database: index.database, collection: index.collection), try IndexModel(index.specification))
    }

    /// The error for an index that can't be built.
    func failure(_ index: DocumentStore.PlacedIndex, _ error: DocumentStoreError) -> any Error {
        if error.code == .unavailable { return error }
        let place = "\(index.namespace.database).\(index.namespace.collection)"
        return DeploymentError(
            .indexFailed,
            "partita.json: the index \(index.model.name) of \(place) can't be created: \(error.message)")
    }
}

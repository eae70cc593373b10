import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
public import RealmSync

extension AppDeployments {
    /// Deploys an app in development mode with classes that a client with a Realm SDK has, unless it has them.
    /// - Parameters:
    ///   - classes: The client's.
    ///   - user: The client's user, for the history.
    /// - Throws: `ClassesRefused` with what the client's developer may know; other errors as `deploy`.
    public func add(_ classes: ObjectSchema, of user: String, to app: String) async throws {
        try await prepare()
        if try await has(classes, app) { return }
        try await DeploymentLock.hold(app, as: by, on: client, waitingFor: .seconds(20), waiting: { _ in }) { lock in
            // Another client may have had the same.
            if try await has(classes, app) { return }
            let (former, files) = try await registry.version(nil, of: app)
            let names = classes.names(beyond: former.definition.syncedClasses.schema)
            let (extended, collections) = try files.adding(classes, to: former.definition)
            let inspection = try await inspect(extended)
            try await requireEmpty(collections, of: inspection.definition)
            var options = Options()
            options.message = "development mode, user \(user): \(names.joined(separator: ", "))"
            do {
                _ = try await deploy(inspection, restoring: nil, options, lock)
            } catch let error as DeploymentError where error.code == .schemaBreaks {
                throw ClassesRefused(
                    description:
                        "documents that are stored violate the new schema, as they do if they lack a property that it requires: make the property optional, or change the documents first"
                )
            }
        }
    }

    private func has(_ classes: ObjectSchema, _ app: String) async throws -> Bool {
        let definition = try await deployed(app).definition
        return definition.syncedClasses.schema.includes(classes)
    }

    /// A user must not make documents sync that only functions know.
    private func requireEmpty(_ collections: [String], of definition: AppDefinition) async throws {
        guard let database = definition.sync?.database else { return }
        let store = store(definition)
        for name in collections {
            let collection = store.collection(name, database: database, app: definition.id)
            guard try await collection.findOne([:]) == nil else {
                throw ClassesRefused(
                    description: "there are documents of \(name), which don't sync: only a deployment changes that")
            }
        }
    }
}

public import DocumentModel
public import DocumentSchema

/// A service that the app's functions access by name. One of type `mongodb-atlas` is the document store.
public struct DataSource: Sendable {
    public var name: String
    /// `mongodb-atlas`, `aws`, `http`, …
    public var type: String
    public var config: Document
    /// The names of secrets, by setting.
    public var secretConfig: Document
    /// The rules for collections without rules of their own.
    public var defaultRules: CollectionRules?
    /// Its file inside the app's folder, for messages.
    var file: String
    /// The rules of another vendor's service.
    public var rules: [ServiceRule] = []
    /// From `partita.json`: where an interface of the service is to be reached (scheme, host and port) instead of at its vendor's, by
    /// the interface's name (`s3`, `twilio`); that of the empty name is for all others.
    public internal(set) var endpoints: [ExactText: String] = [:]

    /// What functions do with a service. The raw value is also the name that functions' processes know it by.
    public enum Kind: String, Sendable { case documents = "mongodb-atlas", http, aws, twilio }

    /// `nil` for a service that isn't served.
    public var kind: Kind? {
        switch type {
        case "mongodb-atlas", "mongodb": .documents
        case "http": .http
        case "aws", "aws-s3", "aws-ses": .aws
        case "twilio": .twilio
        default: nil
        }
    }

    /// Whether it is the document store.
    public var isDocumentStore: Bool { kind == .documents }

    /// The cluster that it connects to; `nil` if the export doesn't say. Services of one cluster are one database.
    public var cluster: String? { config["clusterName"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
}

/// A collection that the app declares, with its schema and rules.
public struct CollectionDefinition: Sendable {
    public var service: String
    @ExactText public var database: String
    public var name: String
    /// The file that has its rules, or the folder of its files, inside the app's folder, for messages.
    var place: String
    /// Whether `place` is a folder.
    var isFolder: Bool
    /// `nil` when the app declares none: then any document is valid.
    public var schema: DocumentSchema?
    /// `nil` when the app declares none: then the data source's default rules apply.
    public var rules: CollectionRules?
    public var relationships: [Relationship]

    /// A field that holds the key of a document in another collection.
    public struct Relationship: Hashable, Sendable {
        @ExactText public var field: String
        @ExactText public var database: String
        @ExactText public var collection: String
        @ExactText public var foreignKey: String
        public var isList: Bool
    }
}

/// The permissions for the documents of a collection. (Devices are subject to the partition's permissions instead.)
public struct CollectionRules: Sendable {
    /// The first role whose `applyWhen` holds applies; if none does, everything is denied.
    public var roles: [DocumentRole]
    /// Queries that are added to the user's own.
    public var filters: [RuleFilter]
}

/// A filter that is added to a user's queries when its condition holds.
public struct RuleFilter: Sendable {
    public var name: String
    public var applyWhen: RuleExpression
    /// The filter with its expansions unresolved.
    public var query: Document
    public var projection: Document?
}

/// What a user in a role may do with a document. An absent permission is `nil`: for `read` and `write` the fields decide then, and
/// `insert`, `delete` and `search` are allowed to users who may write or read the document. `write` implies `read`.
public struct DocumentRole: Sendable {
    public var name: String
    public var applyWhen: RuleExpression
    public var read: RuleExpression?
    public var write: RuleExpression?
    public var insert: RuleExpression?
    public var delete: RuleExpression?
    public var search: RuleExpression?
    /// The permissions of single fields, used where `read` and `write` of the document are `nil`.
    public var fields: [ExactText: FieldPermission]
    /// The permission of all fields that `fields` doesn't name.
    public var additionalFields: FieldPermission?
    public var readFilter: RuleExpression?
    public var writeFilter: RuleExpression?

    /// What a role may do with one field, and with the fields inside it.
    public struct FieldPermission: Sendable {
        public var read: RuleExpression?
        public var write: RuleExpression?
        public var fields: [ExactText: FieldPermission]
    }
}

extension AppDefinition {
    /// The files that have a collection's rules, as one text.
    public func ruleText(of collection: CollectionDefinition) -> String {
        let own = collection.isFolder ? "\(collection.place)/rules.json" : collection.place
        return files[own] ?? ""
    }
}

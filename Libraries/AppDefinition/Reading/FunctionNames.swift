public import DocumentModel

/// What functions can use of the objects that they are given. A test compares it with what the host of functions gives them.
public enum FunctionNames {
    /// The names that are served of each object. `collection()` and `db()` stand for what these methods return.
    public static let served: [ExactText: Set<ExactText>] = [
        "context": [
            "app", "environment", "functions", "http", "request", "runningAsSystem", "services", "user", "values",
        ],
        "context.app": ["clientAppId", "deployment", "id", "name"],
        "context.environment": ["tag", "values"],
        "context.functions": ["execute"],
        "context.http": ["delete", "get", "head", "patch", "post", "put"],
        "context.request": [
            "action", "httpMethod", "httpReferrer", "httpUserAgent", "rawQueryString", "remoteIPAddress",
            "requestHeaders", "service", "webhookUrl",
        ],
        "context.services": ["get"],
        "context.values": ["get"],
        "db()": ["collection", "name"],
        "collection()": [
            "aggregate", "bulkWrite", "count", "countDocuments", "deleteMany", "deleteOne", "distinct",
            "estimatedDocumentCount", "find", "findOne", "findOneAndDelete", "findOneAndReplace", "findOneAndUpdate",
            "initializeOrderedBulkOp", "initializeUnorderedBulkOp", "insertMany", "insertOne", "name", "replaceOne",
            "updateMany", "updateOne",
        ],
        "BSON": [
            "BSONRegExp", "Binary", "Decimal128", "Double", "Int32", "Int64", "Long", "MaxKey", "MinKey", "ObjectID",
            "ObjectId", "Timestamp", "UUID",
        ],
        "EJSON": ["parse", "stringify"],
        "utils": ["crypto", "jwt"],
        "utils.crypto": ["decrypt", "encrypt", "hash", "hmac", "sign", "verify"],
        "utils.jwt": ["decode", "encode"],
    ]

    /// Globals that other engines have.
    static let unservedGlobals: Set<ExactText> = ["fetch", "SharedArrayBuffer", "WebAssembly", "XMLHttpRequest"]

    /// Operators of `$search` that aren't served, and that no other object of an app is likely to have as a name.
    static let unservedSearches: Set<ExactText> = [
        "embeddedDocument", "geoShape", "hasAncestor", "hasRoot", "knnBeta", "vectorSearch",
    ]

    /// What to do instead of something that isn't served.
    static func remedy(for name: String, of object: String) -> String {
        switch (object, name) {
        case ("collection()", "watch"): "write a database trigger; clients can watch"
        case ("collection()", "createIndex"), ("collection()", "createIndexes"), ("collection()", "ensureIndex"):
            "declare the index in partita.json"
        case ("collection()", "drop"): "use deleteMany({})"
        case ("collection()", "rename"): "insert the documents into the other collection, with aggregate and $out"
        case ("collection()", "insert"): "use insertOne or insertMany"
        case ("collection()", "update"), ("collection()", "save"): "use updateOne, updateMany or replaceOne"
        case ("collection()", "remove"): "use deleteOne or deleteMany"
        case ("collection()", "findAndModify"): "use findOneAndUpdate"
        case ("db()", "aggregate"): "call aggregate of a collection"
        case ("context", "auth"): "a function doesn't sign in: context.user is its user"
        default:
            served[ExactText(object)].map { "there are \($0.map(\.text).sorted().joined(separator: ", "))" }
                ?? "leave it out"
        }
    }
}

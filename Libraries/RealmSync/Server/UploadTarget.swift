package import DocumentModel

/// Where an app's Realm clients write.
package struct UploadTarget: Sendable {
    package let database: String
    /// The collections by their classes.
    package let collections: [ExactText: String]
    package let partitionKey: String
    package let partition: Value
    /// Whether clients may add classes to the app.
    package let isInDevelopment: Bool

    package init(
        database: String, collections: [ExactText: String], partitionKey: String, partition: Value,
        isInDevelopment: Bool = false
    ) {
        self.isInDevelopment = isInDevelopment
        self.database = database
        self.collections = collections
        self.partitionKey = partitionKey
        self.partition = partition
    }

    /// Whether an object's property for the partition key, if its class has one, has the partition's value. One that has the
    /// initial value of its type wasn't set.
    func admits(_ object: Document?) -> Bool { object?[partitionKey].map { $0 == partition } ?? true }
}

public import DocumentModel

/// Partition-based sync: which database devices sync, by which field, and who may open a partition.
public struct SyncConfiguration: Sendable {
    public var isEnabled: Bool
    public var service: String
    public var database: String
    /// The field of every synced document that holds its partition's value.
    public var partitionKey: String
    public var partitionType: PartitionType
    /// Whether a document without a partition value is an error.
    public var isPartitionRequired: Bool
    /// Who may read a partition: `%%user` and `%%partition`.
    public var read: RuleExpression
    /// Who may write every document of a partition.
    public var write: RuleExpression
    public var isDevelopmentMode: Bool

    /// The type of a partition key's values.
    public enum PartitionType: String, Sendable {
        case string, objectId, long, uuid

        /// Whether a value can be a partition's.
        public func holds(_ value: Value) -> Bool {
            switch (self, value) {
            case (.string, .string), (.objectId, .objectId), (.long, .int32), (.long, .int64): true
            case (.uuid, .binary(let binary)): binary.subtype == 4
            default: false
            }
        }
    }
}

public import DocumentModel
import DocumentSchema

/// The settings of partition-based sync: the database that devices sync, the partition key, and the rules for opening a partition.
public struct SyncConfiguration: Sendable {
    public var isEnabled: Bool
    public var service: String
    public var database: String
    /// The field of every synced document that holds its partition's value.
    public var partitionKey: String
    public var partitionType: PartitionType
    /// Whether the documents without a partition value, or with null, are a partition of their own: when the key is declared as not
    /// required. Otherwise they don't sync.
    public var hasNullPartition: Bool
    /// The rule for reading a partition, which uses `%%user` and `%%partition`.
    public var read: RuleExpression
    /// The rule for writing every document of a partition.
    public var write: RuleExpression
    /// Whether a client with a Realm SDK that has to begin anew may not keep what it hasn't uploaded (`is_recovery_mode_disabled`).
    public var isRecoveryDisabled: Bool
    /// How many days a client with a Realm SDK may be away, from 1 to 3650 (`client_max_offline_days`); `nil` leaves that to the operator.
    public var maximumOfflineDays: Int?
    /// Whether clients with a Realm SDK that may write a partition add their classes and properties to the app's schemas
    /// (`development_mode_enabled`).
    public var isInDevelopment = false

    /// Whether a value names a partition of the app.
    public func admits(_ value: Value) -> Bool { value == .null ? hasNullPartition : partitionType.holds(value) }

    /// The type of a partition key's values.
    public enum PartitionType: String, Sendable {
        case string, objectId, long, uuid

        /// Whether a value has this type.
        public func holds(_ value: Value) -> Bool {
            switch (self, value) {
            case (.string, .string), (.objectId, .objectId), (.long, .int32), (.long, .int64): true
            case (.uuid, .binary(let binary)): binary.subtype == 4
            default: false
            }
        }

        /// Whether a field of one of these types can have such a value.
        func isAmong(_ types: Set<BSONType>) -> Bool {
            switch self {
            case .string: types.contains(.string)
            case .objectId: types.contains(.objectId)
            case .long: !types.isDisjoint(with: [.long, .int, .number])
            case .uuid: types.contains(.uuid)
            }
        }
    }
}

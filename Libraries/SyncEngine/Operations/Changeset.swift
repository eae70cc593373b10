import DocumentModel

/// The operations that one device committed together in one partition; applied all or nothing.
public struct Changeset: Sendable {
    /// Its sequence number among the device's changesets in the partition: 1, 2, 3, …
    public var version: Int64
    /// When the device made it, by the device's hybrid logical clock.
    public var clock: HybridTime
    /// A text that no other changeset has, so that copies of a device may number it differently; at most 64 bytes. `nil` from devices
    /// that don't give any.
    public var id: String?
    /// The operations, in the order in which they were made.
    public var operations: [Operation]

    public init(version: Int64, clock: HybridTime, id: String? = nil, operations: [Operation]) {
        self.version = version
        self.id = id
        self.clock = clock
        self.operations = operations
    }
}

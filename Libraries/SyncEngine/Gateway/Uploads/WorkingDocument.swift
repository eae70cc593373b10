public import DocumentModel

/// A document as a transaction has it in hand: as it was in the table, as it is now, and the changes between.
public struct WorkingDocument: Sendable {
    /// What the document is at some moment.
    public struct State: Sendable {
        public var partition: Partition
        public var stored: StoredDocument
        /// Canonical Extended JSON.
        public var body: [UInt8]

        public init(partition: Partition, stored: StoredDocument, body: [UInt8]) {
            self.partition = partition
            self.stored = stored
            self.body = body
        }
    }

    /// One change row to be written.
    public struct Change: Sendable {
        public var partition: Partition
        /// The how-manieth revision of the transaction in the partition, from 1.
        public var ordinal: Int64
        public var operation: ChangeEvent.OperationType
        /// Provisional ones count in `partition`.
        public var incarnation: Revision
        public var before: [UInt8]?
        public var after: [UInt8]?
        public var moved: (partition: Partition, ordinal: Int64)?
        public var origin: ChangeEvent.Origin?
    }

    public let namespace: ChangeEvent.Namespace
    public let id: String
    /// Whether the table has a row of it, written by this transaction or before.
    public internal(set) var isInTable: Bool
    /// Whether the row in the table is as `current`, except for its revision.
    public internal(set) var isFlushed = false
    /// As it is; `nil` when there is none.
    public internal(set) var current: State?
    public internal(set) var changes: [Change] = []

    init(_ namespace: ChangeEvent.Namespace, id: String, found: State?) {
        self.namespace = namespace
        self.id = id
        isInTable = found != nil
        current = found
    }
}

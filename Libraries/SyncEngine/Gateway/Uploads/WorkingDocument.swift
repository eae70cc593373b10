public import DocumentModel

/// A document that a transaction works on: its current state, and the changes that the transaction made to it.
public struct WorkingDocument: Sendable {
    /// The state of the document at one time.
    public struct State: Sendable {
        public var partition: Partition
        public var stored: StoredDocument
        /// The document's text: canonical Extended JSON.
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
        /// The position of its revision among those that the transaction takes in the partition, from 1.
        public var ordinal: Int64
        public var operation: ChangeEvent.OperationType
        /// The revision of the document's insert; a provisional one is an ordinal in `partition`.
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
    /// Whether the row in the table matches `current`, except for its revision.
    public internal(set) var isFlushed = false
    /// The current state; `nil` when the document doesn't exist.
    public internal(set) var current: State?
    public internal(set) var changes: [Change] = []

    /// Whether it was deleted and another document was inserted under its `_id`.
    public var isReborn: Bool {
        guard current != nil,
            let deletion = changes.firstIndex(where: { $0.operation == .delete && $0.moved == nil })
        else { return false }
        return changes[deletion...].contains { $0.operation == .insert }
    }

    init(_ namespace: ChangeEvent.Namespace, id: String, found: State?) {
        self.namespace = namespace
        self.id = id
        isInTable = found != nil
        current = found
    }
}

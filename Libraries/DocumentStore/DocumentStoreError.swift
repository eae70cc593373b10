public import DocumentModel

/// An operation that the document store refused or couldn't carry out.
///
/// `message` may be shown to the caller of an operation; it names paths and codes, never contents of other documents.
public struct DocumentStoreError: Error, Sendable, CustomStringConvertible {
    /// Kinds of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case unknownApp, unknownCollection, duplicateKey, schemaViolation, documentTooLarge, badId, badUpdate,
                badFilter
            case badValue, badIndex, unknownIndex, timeLimit
            case conflict, busy, overloaded, unavailable, notSupported, corruptRow, sessionEnded, stopped,
                transactionTooLarge
        }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The app isn't defined in the store.
        public static let unknownApp = Code(.unknownApp)
        /// The collection has no table and the operation doesn't create one, or its name isn't valid.
        public static let unknownCollection = Code(.unknownCollection)
        /// A document with this `_id`, or with the same value of a unique index, exists (MongoDB's 11000).
        public static let duplicateKey = Code(.duplicateKey)
        /// The document violates the collection's schema (MongoDB's 121).
        public static let schemaViolation = Code(.schemaViolation)
        /// The document is larger than ``DocumentStore/maximumDocumentBytes``.
        public static let documentTooLarge = Code(.documentTooLarge)
        /// The `_id` has a type that isn't allowed, is too large, or would change.
        public static let badId = Code(.badId)
        /// The update can't be applied; MongoDB's code is in `mongoCode`.
        public static let badUpdate = Code(.badUpdate)
        /// The filter, sort or projection can't be read; MongoDB's code is in `mongoCode`.
        public static let badFilter = Code(.badFilter)
        /// A value that Postgres can't store or compute with: U+0000 in a name or in code, a number out of range (MongoDB's 2).
        public static let badValue = Code(.badValue)
        /// The index can't be read, or contradicts an existing one; MongoDB's code is in `mongoCode`.
        public static let badIndex = Code(.badIndex)
        /// No index has the name (MongoDB's 27).
        public static let unknownIndex = Code(.unknownIndex)
        /// The operation took longer than its time limit (MongoDB's 50).
        public static let timeLimit = Code(.timeLimit)
        /// Other writers kept changing the same documents: the caller should try again.
        public static let conflict = Code(.conflict)
        /// A lock couldn't be acquired in time: the caller should try again.
        public static let busy = Code(.busy)
        /// Too many operations already wait to be committed or for a connection: the caller should try again later.
        public static let overloaded = Code(.overloaded)
        /// Postgres can't be reached, or failed; `underlyingError` has the cause.
        public static let unavailable = Code(.unavailable)
        /// A feature of MongoDB that isn't supported.
        public static let notSupported = Code(.notSupported)
        /// A row has contents that this library can't have written.
        public static let corruptRow = Code(.corruptRow)
        /// The session was used after the transaction's closure had returned.
        public static let sessionEnded = Code(.sessionEnded)
        /// The documents that a transaction has read and written need more memory than it may use (MongoDB's 257).
        public static let transactionTooLarge = Code(.transactionTooLarge)
        /// The service that carries out the operation has stopped.
        public static let stopped = Code(.stopped)

        public var description: String { base.rawValue }
    }

    public var code: Code
    public var message: String
    /// MongoDB's number for the error; `nil` if MongoDB has none.
    public var mongoCode: Int?
    /// The dotted path of the field that caused the error.
    public var path: String?
    /// Further details in MongoDB's form: `keyPattern` and `keyValue` of a duplicate key.
    public var details: Document?
    public var underlyingError: (any Error)?

    public init(
        _ code: Code, _ message: String, mongoCode: Int? = nil, path: String? = nil, details: Document? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.mongoCode = mongoCode
        self.path = path
        self.details = details
        underlyingError = underlying
    }

    public var description: String { "DocumentStoreError(\(code)): \(message)" }

    /// The error without the values of a duplicate key, except the `_id`'s: they belong to other documents, or to fields that are
    /// hidden from the caller.
    public var withoutValues: DocumentStoreError {
        guard code == .duplicateKey, details?["keyPattern"] != ["_id": 1] else { return self }
        var error = self
        error.details?["keyValue"] = nil
        if let values = message.firstRange(of: " dup key: ") { error.message = String(message[..<values.lowerBound]) }
        error.underlyingError = nil
        return error
    }

    static let lockedOut = DocumentStoreError(.busy, "a row that the changeset needs is locked")

    /// MongoDB's labels: a transaction that ended with this error may be run again as a whole.
    public var errorLabels: [String] { code == .conflict || code == .busy ? ["TransientTransactionError"] : [] }

    /// Whether the same call may succeed later.
    public var isRetriable: Bool { code == .conflict || code == .busy || code == .overloaded }

    /// Whether the operation itself isn't the cause: a service that works off events repeats it for as long as it takes.
    public var isTransient: Bool { isRetriable || code == .unavailable }
}

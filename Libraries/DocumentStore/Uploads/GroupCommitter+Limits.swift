extension GroupCommitter {
    /// The bounds of a committer.
    public struct Limits: Sendable {
        /// How many uploads of an app may wait in a lane (at least 1); further ones are refused.
        public var waiting: Int
        /// The number of an app's lanes (at least 1): how many of its batches may be committed at once.
        public var lanes: Int
        /// The most changesets in a batch (at least 1).
        public var batch: Int
        /// The most bytes of changesets in a batch, except that the first one may have any size.
        public var batchBytes: Int
        /// The most operations in a batch, except that the first changeset may have any number.
        public var batchOperations: Int
        /// The size in bytes from which a changeset is large.
        public var largeBytes: Int
        /// The number of operations from which a changeset is large.
        public var largeOperations: Int
        /// How long an upload that needs a locked document is retried before it fails with `busy`.
        public var patience: Duration

        public init(
            waiting: Int = 10_000, lanes: Int = 4, batch: Int = 512, batchBytes: Int = 8 << 20,
            batchOperations: Int = 8192, largeBytes: Int = 1 << 20, largeOperations: Int = 4096,
            patience: Duration = .seconds(10)
        ) {
            self.waiting = max(waiting, 1)
            self.lanes = max(lanes, 1)
            self.batch = max(batch, 1)
            self.batchBytes = batchBytes
            self.batchOperations = batchOperations
            self.largeBytes = largeBytes
            self.largeOperations = largeOperations
            self.patience = patience
        }
    }
}

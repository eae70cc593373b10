public import DocumentModel

/// Something in the database that contradicts a promise of the document store.
public struct StoreFinding: Hashable, Sendable {
    /// What kind of contradiction it is.
    public enum Code: String, CaseIterable, Sendable {
        /// Changes of other hands have no revision: devices don't get them.
        case pendingChanges = "pending-changes"
        /// A collection's table lacks a trigger, or it is disabled: what other hands write isn't noticed.
        case triggers = "triggers"
        /// A collection doesn't have the partition key of the deployed app.
        case partitionKey = "partition-key"
        /// A document isn't in the partition that its body names.
        case misplaced = "misplaced-document"
        /// The form of a document that queries use isn't that of its body.
        case queryForm = "query-form"
        /// A document, a tombstone or a change is later than its partition's head.
        case afterHead = "after-head"
        /// Two documents or tombstones of a partition have one revision.
        case sharedRevision = "shared-revision"
        /// A document has a tombstone in its own partition.
        case tombstone = "living-tombstone"
        /// Between the changes of a partition that are kept, some are missing; or the last is missing.
        case historyGap = "history-gap"
        /// A document or a tombstone isn't as the last change of it says.
        case history = "history-differs"
        /// A partition has an epoch that never began.
        case epoch = "epoch"
        /// The relay hasn't published a partition's changes for more than a minute.
        case unpublished = "unpublished"
    }

    public let code: Code
    /// How many there are.
    public let count: Int
    /// Where one of them is.
    @ExactText public private(set) var example: String

    /// What it means.
    public var meaning: String {
        switch code {
        case .pendingChanges: "changes by SQL have no revision, devices don't get them"
        case .triggers: "the table lacks a trigger, changes by SQL aren't noticed"
        case .partitionKey: "the collection has another partition key, or null partition, than the deployed app"
        case .misplaced: "documents aren't in the partition that they name"
        case .queryForm: "queries see other values than devices"
        case .afterHead: "revisions are later than their partition's head, devices don't get them"
        case .sharedRevision: "documents share a revision, devices may miss one of them"
        case .tombstone: "documents exist and count as deleted"
        case .historyGap: "changes are missing, triggers and topics don't get them"
        case .history: "documents aren't as their last change says"
        case .epoch: "partitions have an epoch that never began"
        case .unpublished: "changes aren't published since more than a minute"
        }
    }

    /// What to do about it.
    public var remedy: String {
        switch code {
        case .triggers:
            "enable or create it again (`alter table … enable trigger …`, as `partita.ensure_collection` does)"
        case .partitionKey: "deploy the app again"
        case .pendingChanges, .misplaced, .queryForm:
            "change a field of each document and change it back, which writes it anew (`partita documents update`)"
        case .afterHead, .sharedRevision, .tombstone, .historyGap, .history, .epoch:
            "restore a backup, or keep the documents as they are and run `partita partition serve-anew`"
        case .unpublished: "is a sync-gateway running, and does it reach the broker?"
        }
    }
}

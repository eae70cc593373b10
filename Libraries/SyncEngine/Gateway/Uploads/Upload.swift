public import DocumentModel

/// A changeset that a device has sent.
public struct Upload: Sendable {
    public var user: String
    public var device: String
    public var partition: Partition
    public let changeset: Changeset
    /// `Changeset.digest`.
    public let digest: UInt64
    /// The changeset's clock, corrected and clamped (`ClockCorrection`).
    public var time: HybridTime
    /// The bytes that the changeset takes in memory, about, by which batches are bounded; 0 when it isn't known.
    public var bytes: Int
    /// The version of the app's schema that the device was built with, as it has said; 0 when it has said none.
    public var schemaVersion: Int64

    public init(
        user: String, device: String, partition: Partition, changeset: Changeset, time: HybridTime, bytes: Int = 0,
        schemaVersion: Int64 = 0
    ) {
        self.user = user
        self.device = device
        self.partition = partition
        self.changeset = changeset
        digest = changeset.digest
        self.time = time
        self.bytes = bytes
        self.schemaVersion = schemaVersion
    }

    public var origin: ChangeEvent.Origin { .init(user: user, device: device, version: changeset.version) }
    public var stamp: WriteStamp { WriteStamp(author: device, time: time) }

    /// Identifies the upload counter of the changeset.
    public var counter: UploadCounter.Key { .init(user: user, device: device, partition: partition.text) }
}

/// The result of an upload.
public enum UploadResult: Sendable {
    /// It is committed, now or when it was sent before.
    case acknowledged(Acknowledgement)
    /// It is rejected permanently; the rejection is stored, and the counter has advanced.
    case rejected(OperationRejection)
    /// The server has this version with other content, or has closed the device's counter after such a conflict: the
    /// device was restored or cloned.
    case forked
    /// Versions before it are missing: the device has to subscribe again to learn the server's last version.
    case outOfOrder(expected: Int64)
    /// It isn't known now whether the user may write in a partition: nothing is stored, and the device has to send it again.
    case undecided(Partition)
}

/// The positive answer to a changeset.
public struct Acknowledgement: Sendable {
    /// When the device's checkpoint has reached this revision, the received state contains the changeset's effects.
    public var revision: Revision
    /// The writes that lost and the operations whose document was deleted.
    public var lost: [LostWrite]

    public init(revision: Revision, lost: [LostWrite] = []) {
        self.revision = revision
        self.lost = lost
    }
}

public import DocumentModel

/// A changeset that a device has sent.
public struct Upload: Sendable {
    public var user: String
    public var device: String
    public var partition: Partition
    public var changeset: Changeset
    /// The changeset's clock, corrected and clamped (`ClockCorrection`).
    public var time: HybridTime

    public init(user: String, device: String, partition: Partition, changeset: Changeset, time: HybridTime) {
        self.user = user
        self.device = device
        self.partition = partition
        self.changeset = changeset
        self.time = time
    }

    public var origin: ChangeEvent.Origin { .init(user: user, device: device, version: changeset.version) }
    public var stamp: WriteStamp { WriteStamp(author: device, time: time) }

    /// Names the counter of uploads that the changeset is in.
    public var counter: UploadCounter.Key { .init(user: user, device: device, partition: partition.text) }
}

/// What became of a changeset.
public enum UploadResult: Sendable {
    /// It is committed, now or at an earlier sending.
    case acknowledged(Acknowledgement)
    /// It is refused for good; the refusal is stored, and the counter has advanced.
    case rejected(OperationRejection)
    /// The server knows this version with other content, or is ahead of the device: the device was restored or cloned.
    case forked
    /// Versions before it are missing: the device has to hear again what the server has.
    case outOfOrder(expected: Int64)
}

/// The good answer to a changeset.
public struct Acknowledgement: Sendable {
    /// When the device's checkpoint has reached this, the received state has what the changeset did.
    public var revision: Revision
    /// The writes that lost and the operations whose document was deleted.
    public var lost: [LostWrite]

    public init(revision: Revision, lost: [LostWrite] = []) {
        self.revision = revision
        self.lost = lost
    }
}

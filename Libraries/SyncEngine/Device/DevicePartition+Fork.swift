import DocumentModel

/// A device that was restored from a backup or cloned assigns versions that the server has with other content. It takes a new id,
/// and uploads under it what the server doesn't have.
///
/// What the server already has must not be uploaded under the new id. So a forked device first uploads, under its current id, every
/// changeset that the server may have: the same content under the same version is acknowledged, other content is `foreign`. After
/// the first `foreign` the server accepts nothing new under that id, so that a changeset that is still in flight from an earlier
/// connection can't be committed without the device knowing. From then on the device uploads all its unanswered changesets under
/// that id, to learn which ones the server has.
extension DevicePartition {
    /// The server has a different changeset under a version that was uploaded.
    public mutating func foreign(version: Int64) {
        isForked = true
        isClosed = true
        guard let index = unresolvedIndex(of: version) else { return }
        pending[index].state = .foreign
    }

    /// The server lacks versions before one that was uploaded, and has closed the partition. When it is opened again, the device
    /// learns where to continue; if a gap is reported again, the device needs a new id.
    public mutating func missedVersions() {
        disconnected()
        isForked = hasMetGap
        hasMetGap = true
    }

    /// Whether all changesets that the server may have under the current id were answered.
    public var isReadyToFork: Bool {
        !pending.contains {
            $0.state == .sent || $0.state == .waiting && (isClosed || $0.changeset.version <= serverVersion)
        }
    }

    /// The device took a new id, under which its versions start again at 1.
    ///
    /// Acknowledged changesets stay acknowledged, and can't be uploaded again under the new id. They get numbers below the first
    /// version, so that the new versions have no gap.
    public mutating func fork() -> [Effect] {
        isSubscribed = false
        serverVersion = 0
        isForked = false
        isClosed = false
        hasMetGap = false
        containedVersion = 0
        stagedVersion = 0
        nextVersion = 1
        var all = Array(pending)
        var retired = -Int64(all.count { !$0.isUnresolved })
        for index in all.indices {
            if all[index].isUnresolved {
                all[index].changeset.version = nextVersion
                all[index].state = .waiting
                all[index].isContained = false
                nextVersion += 1
            } else {
                retired += 1
                all[index].changeset.version = retired
                all[index].isReofferable = false
            }
        }
        pending = PendingQueue(all.sorted { $0.changeset.version < $1.changeset.version })
        return [.forgetRetained(after: 0), .rebase(overlaidKeys)]
    }
}

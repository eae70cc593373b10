import DocumentModel

/// A device that was restored from a backup or cloned gives versions that the server knows with other content. It takes a new id,
/// and offers under it what the server doesn't have.
///
/// What the server has already must not be offered again. So a device that is forked first asks, under the id that it has, about
/// everything that the server may have: the same content under the same version is acknowledged, other content is `foreign`. With the
/// first `foreign` the server takes nothing new under that id any more, so that what an earlier connection has sent, and somebody may
/// still have in hand, can't be committed behind the device's back: from then on the device asks about all that it has.
extension DevicePartition {
    /// The server has another's changeset under a version that was uploaded.
    public mutating func foreign(version: Int64) {
        isForked = true
        isClosed = true
        guard let index = unresolvedIndex(of: version) else { return }
        pending[index].state = .foreign
    }

    /// The server misses versions before one that was uploaded, and has closed the partition. Opening it again tells the device
    /// where to go on; if that doesn't help, only a new id does.
    public mutating func missedVersions() {
        disconnected()
        isForked = hasMetGap
        hasMetGap = true
    }

    /// Whether nothing is unanswered that the server may have under the present id.
    public var isReadyToFork: Bool {
        !pending.contains {
            $0.state == .sent || $0.state == .waiting && (isClosed || $0.changeset.version <= serverVersion)
        }
    }

    /// The device took a new id, under which its versions begin anew.
    ///
    /// What was acknowledged stays acknowledged, and can't be offered again under the new id. It gets numbers below the first
    /// version, so that the new ones have no gap.
    public mutating func fork() -> [Effect] {
        isSubscribed = false
        serverVersion = 0
        isForked = false
        isClosed = false
        hasMetGap = false
        containedVersion = 0
        stagedVersion = 0
        nextVersion = 1
        var retired = -Int64(pending.count { !$0.isUnresolved })
        for index in pending.indices {
            if pending[index].isUnresolved {
                pending[index].changeset.version = nextVersion
                pending[index].state = .waiting
                pending[index].isContained = false
                nextVersion += 1
            } else {
                retired += 1
                pending[index].changeset.version = retired
                pending[index].isReofferable = false
            }
        }
        pending.sort { $0.changeset.version < $1.changeset.version }
        return [.forgetRetained(after: 0), .rebase(overlaidKeys)]
    }
}

import DocumentModel
import SyncEngine

/// What identifies a changeset in a simulation, whatever version a device or a copy of it gives it: when it was written, and by the
/// device with which all began.
struct ChangesetName: Hashable, Sendable {
    let clock: HybridTime
    let device: String

    init(_ changeset: Changeset, device: String) {
        clock = changeset.clock
        self.device = String(device.prefix { $0 != "'" })
    }
}

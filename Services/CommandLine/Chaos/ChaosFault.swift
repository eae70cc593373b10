/// A fault of a run: what happens to what, when, and for how long.
struct ChaosFault: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// A process is killed with -9; it is started again at once.
        case kill
        /// A process is stopped by SIGSTOP, and continued.
        case stop
        /// Some connections to Postgres are ended by it.
        case endBackends = "end-backends"
        /// Some connections of devices are cut in the middle of their bytes.
        case cut
        /// Some connections of devices stand still.
        case stall
        /// Some connections of devices are dead, and neither side is told.
        case halfOpen = "half-open"
        /// The process of a device is killed with -9, and starts later with the store that it has on its disk.
        case killDevice = "kill-device"
        /// A device that only reads is installed anew, with an empty store.
        case reinstall
        /// A copy of Postgres's data directory, made now, takes the place of what it is in the end: the commits in between are lost.
        case snapshot
        /// A standby, made now, takes the place of Postgres in the end, without what was committed in the second half of the time.
        case failover
    }

    /// When it begins, from the start of the load on.
    let at: Duration
    let kind: Kind
    /// A process, an engine or a device; `relay` is the gateway that leads most shards of the outbox when it happens; empty for the network.
    let target: String
    /// How long it lasts; zero for what is over at once.
    let length: Duration
    /// Decides what the kind leaves open, such as which connections.
    let seed: UInt64

    /// Without the time.
    var text: String {
        let what = target.isEmpty ? kind.rawValue : "\(kind.rawValue) \(target)"
        return length == .zero ? what : "\(what) for \(Progress.text(length))"
    }
}

/// Those who missed little don't wait for those who missed much.
struct WatchResumptions: Sendable {
    /// The number of messages from which on it is much.
    private static let much: Int64 = 1000

    let watches: Watches
    let short: WatchResumption
    let long: WatchResumption

    /// Makes a stream have the changes from a position on. Its queue must hold back what is new since before the call.
    func resume(_ watch: Watch, from: WatchPosition) {
        let distance = zip(watches.offsets, from.offsets).reduce(0) { $0 + max(0, $1.0 - $1.1) }
        (distance < Self.much ? short : long).resume(watch, from: from)
    }
}

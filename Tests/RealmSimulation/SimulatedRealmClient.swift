import RealmClientModel

/// A device with a Realm SDK.
struct SimulatedRealmClient: Sendable {
    let user: String
    var model = RealmClientModel()
    /// The gateway and the number of its connection.
    var connection: (gateway: Int, number: Int)?
    /// Whether it doesn't read for a while.
    var isSlow = false
    /// Its last mark, and the last that was answered.
    var request: UInt64 = 0
    var answered: UInt64 = 0
    /// What it has added to the counter, by its versions.
    var additions: [UInt64: Int64] = [:]

    init(user: String) { self.user = user }
}

import Postgres

/// A worker's turn at a lane of ordered triggers. What a run writes checks it in its transaction: a worker that was stopped for longer than its lease
/// lasts must not write what it has computed from what it read before.
struct OrderedTurn: Sendable {
    /// The name of the lease.
    let name: String
    let holder: String
    let fence: Int64

    /// An expression that fails with PT410 when another worker has, or has had, the turn. Its parameters are ``values(isBrief:)``.
    static func checkSQL(_ first: Int) -> String {
        "partita.require_turn($\(first), $\(first + 1), $\(first + 2), $\(first + 3))"
    }

    /// - Parameter isBrief: whether the transaction ends with this write. Then nobody else gets the turn before it has committed. A transaction of the
    ///   function's own may take longer than the lease, whose renewal would wait for it.
    func values(isBrief: Bool) -> [PostgresValue] { [.text(name), .text(holder), .int(fence), .bool(isBrief)] }
}

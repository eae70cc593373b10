public import SyncEngine

/// What happened in the simulated tables of permissions, with their answers: tables to which the same happens have to answer the same.
///
/// Versions are those of the simulation: other tables may number the decisions differently, in the same order.
public enum PermissionsCall: Sendable {
    /// A decision, and whether it needs a receipt.
    case decide(Access, user: String, version: Int64, isFence: Bool)
    /// The outbox is read.
    case readOutbox([WaitingGrant])
    /// Grants are marked as published, at a time in milliseconds, when these gateways were registered.
    case mark([WaitingGrant], now: Int64, gateways: Set<Int>)
    /// A gateway has stopped serving a user.
    case answer(user: String, version: Int64, gateway: Int)
    /// The receipts are written that are due `patience` milliseconds after a revocation was published, or earlier.
    case writeReceipts(now: Int64, patience: Int64, [Receipt])

    /// A grant that the outbox has.
    public struct WaitingGrant: Hashable, Sendable {
        public let user: String
        public let access: Access
        public let version: Int64
        public let isFence: Bool

        public init(user: String, access: Access, version: Int64, isFence: Bool) {
            self.user = user
            self.access = access
            self.version = version
            self.isFence = isFence
        }
    }

    public struct Receipt: Hashable, Sendable {
        public let user: String
        public let version: Int64
        /// The gateways whose leases had to lapse.
        public let lapsed: Set<Int>

        public init(user: String, version: Int64, lapsed: Set<Int>) {
            self.user = user
            self.version = version
            self.lapsed = lapsed
        }
    }
}

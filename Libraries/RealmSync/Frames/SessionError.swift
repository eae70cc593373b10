public import DocumentModel
import Foundation

/// An error that the server sends, about a session or, with session 0, the connection.
public struct SessionError: Hashable, Sendable {
    /// What the client does. It takes an unknown text for `applicationBug`.
    public enum Action: String, Hashable, Sendable {
        /// The session stops, and the app is told.
        case protocolViolation = "ProtocolViolation"
        case applicationBug = "ApplicationBug"
        /// The app is told, and the session goes on.
        case warning = "Warning"
        /// The client tries again without telling the app.
        case transient = "Transient"
        case deleteRealm = "DeleteRealm"
        /// The client loads everything again and keeps what it hasn't uploaded, if the app has chosen that.
        case clientReset = "ClientReset"
        /// The same, without keeping it.
        case clientResetNoRecovery = "ClientResetNoRecovery"
        case migrateToFlexible = "MigrateToFLX"
        case revertToPartitions = "RevertToPBS"
        case refreshUser = "RefreshUser"
        case refreshLocation = "RefreshLocation"
        case logOutUser = "LogOutUser"
        case migrateSchema = "MigrateSchema"
    }

    /// How long the client waits before it tries again.
    public struct Backoff: Hashable, Sendable {
        /// The first wait, in seconds.
        public var seconds: Int
        /// The longest wait, in seconds.
        public var maximumSeconds: Int
        /// By how much a wait is longer than the one before.
        public var multiplier: Int

        public init(seconds: Int, maximumSeconds: Int, multiplier: Int) {
            self.seconds = seconds
            self.maximumSeconds = maximumSeconds
            self.multiplier = multiplier
        }
    }

    /// A write that the server has refused, and undoes with the changeset at a version of the history. The error has to come before
    /// the download of that version.
    public struct CompensatingWrite: Hashable, Sendable {
        /// The version of the history that undoes it.
        public var serverVersion: UInt64
        /// The client's version that was refused.
        public var rejectedClientVersion: UInt64
        /// The objects that were refused.
        public var rejected: [RejectedObject]

        public init(serverVersion: UInt64, rejectedClientVersion: UInt64, rejected: [RejectedObject]) {
            self.serverVersion = serverVersion
            self.rejectedClientVersion = rejectedClientVersion
            self.rejected = rejected
        }

        fileprivate var updates: Value {
            .array(
                rejected.map {
                    [
                        "reason": .string($0.reason), "table": .string($0.table),
                        "pk": .string(Data($0.key).base64EncodedString()),
                    ]
                })
        }

        /// Writes that one version of the history undoes, as they are stored with it.
        package static func stored(_ writes: [CompensatingWrite]) -> Value {
            .array(writes.map { ["version": .int64(Int64($0.rejectedClientVersion)), "updates": $0.updates] })
        }

        /// What was stored with a version of the history; what can't be read is left out.
        package static func reading(_ stored: Value, at version: Int64) -> [CompensatingWrite] {
            (stored.arrayValue ?? []).compactMap { write in
                guard let client = write["version"]?.int64Value, let updates = write["updates"]?.arrayValue else {
                    return nil
                }
                let rejected = updates.compactMap { update -> RejectedObject? in
                    guard let reason = update["reason"]?.stringValue, let table = update["table"]?.stringValue,
                        let key = update["pk"]?.stringValue.flatMap({ Data(base64Encoded: $0) })
                    else { return nil }
                    return RejectedObject(reason: reason, table: table, key: Array(key))
                }
                return CompensatingWrite(
                    serverVersion: UInt64(version), rejectedClientVersion: UInt64(client), rejected: rejected)
            }
        }
    }

    /// An object whose change was refused.
    public struct RejectedObject: Hashable, Sendable {
        /// Why, for people.
        @ExactText public var reason: String
        /// Its table.
        @ExactText public var table: String
        /// The bytes of its primary key, as a changeset has it, but with a string in place of its number.
        public var key: [UInt8]

        /// - Parameter strings: The table to which the key belongs.
        public init(reason: String, table: String, key: PrimaryKey, strings: InternStrings) {
            self.reason = reason
            self.table = table
            self.key = ChangesetEncoder.bytes(of: key, strings)
        }

        fileprivate init(reason: String, table: String, key: [UInt8]) {
            self.key = key
            self.reason = reason
            self.table = table
        }

        public init(reason: String, _ object: ObjectKey) {
            var builder = ChangesetBuilder()
            let key = builder.key(object.id)
            self.init(reason: reason, table: object.table, key: key, strings: builder.changeset.strings)
        }
    }

    public var code: RealmErrorCode
    /// For people.
    @ExactText public var message: String
    public var action: Action
    /// Whether the client binds the session again, after a while.
    public var triesAgain: Bool
    /// Whether the client may not keep what it hasn't uploaded when it resets.
    public var isRecoveryDisabled = false
    /// Where the operator finds more; may be empty.
    @ExactText public var logURL = ""
    public var backoff: Backoff?
    public var compensatingWrite: CompensatingWrite?

    public init(_ code: RealmErrorCode, _ message: String, action: Action, triesAgain: Bool) {
        self.code = code
        self.message = message
        self.action = action
        self.triesAgain = triesAgain
    }

    /// The body of `json_error`. A client takes an error without one of the first six fields for a fault of the protocol.
    var json: [UInt8] {
        var document: Document = [
            "message": .string(message), "action": .string(action.rawValue), "tryAgain": .bool(triesAgain),
            "shouldClientReset": .bool(action == .clientReset || action == .clientResetNoRecovery),
            "isRecoveryModeDisabled": .bool(isRecoveryDisabled), "logURL": .string(logURL),
        ]
        if let backoff {
            document["backoffIntervalSec"] = .int64(Int64(backoff.seconds))
            document["backoffMaxDelaySec"] = .int64(Int64(backoff.maximumSeconds))
            document["backoffMultiplier"] = .int64(Int64(backoff.multiplier))
        }
        if let write = compensatingWrite {
            document["compensatingWriteServerVersion"] = .int64(Int64(clamping: write.serverVersion))
            document["rejectedClientVersion"] = .int64(Int64(clamping: write.rejectedClientVersion))
            document["rejectedUpdates"] = write.updates
        }
        return Array(ExtendedJSON.print(document, mode: .relaxed).utf8)
    }
}

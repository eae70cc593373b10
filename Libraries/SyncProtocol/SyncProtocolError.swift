import SyncEngine

/// The error codes between device and gateway. Their texts on the wire are stable.
public struct SyncErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The code's text on the wire.
    public let rawValue: String
    /// How the device reacts by default, when an `error` frame has no other action.
    public let action: DeviceConnection.Remedy

    private init(_ rawValue: String, _ action: DeviceConnection.Remedy) {
        self.rawValue = rawValue
        self.action = action
    }

    /// The code with a text; an unknown text, from a newer gateway, is kept and means `retry`.
    public init(rawValue: String) {
        self = Self.all.first { $0.rawValue == rawValue } ?? SyncErrorCode(rawValue, .retry)
    }

    public var description: String { rawValue }

    public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// A frame that isn't an Extended JSON object, of an unknown type, or with a missing or wrong field.
    public static let badFrame = SyncErrorCode("badFrame", .close)
    /// A frame beyond `limits.frameBytes`.
    public static let frameTooLarge = SyncErrorCode("frameTooLarge", .close)
    /// `hello` names a protocol that the gateway doesn't speak.
    public static let unsupportedProtocol = SyncErrorCode("unsupportedProtocol", .close)
    /// Another frame came before `hello`.
    public static let helloExpected = SyncErrorCode("helloExpected", .close)
    /// A second `hello`.
    public static let alreadyOpen = SyncErrorCode("alreadyOpen", .close)
    /// The app isn't deployed.
    public static let unknownApp = SyncErrorCode("unknownApp", .close)
    /// The access token is malformed, forged, or of another app.
    public static let badToken = SyncErrorCode("badToken", .reauthenticate)
    /// The access token has expired.
    public static let tokenExpired = SyncErrorCode("tokenExpired", .reauthenticate)
    /// The account is disabled or deleted.
    public static let userDisabled = SyncErrorCode("userDisabled", .reauthenticate)
    /// The session that the access token belongs to has ended: signed out, or ended by its user, a reset or a revoked key.
    public static let sessionEnded = SyncErrorCode("sessionEnded", .reauthenticate)
    /// The user has as many connections as the gateway allows.
    public static let tooManyConnections = SyncErrorCode("tooManyConnections", .retry)
    /// A renewed token is another user's.
    public static let userChanged = SyncErrorCode("userChanged", .close)
    /// A text that isn't a partition of this app.
    public static let unknownPartition = SyncErrorCode("unknownPartition", .close)
    /// A frame about a partition that isn't open.
    public static let notSubscribed = SyncErrorCode("notSubscribed", .retry)
    /// More partitions than `limits.subscriptions`.
    public static let tooManySubscriptions = SyncErrorCode("tooManySubscriptions", .close)
    /// Versions before the uploaded one are missing; the partition was closed.
    public static let versionGap = SyncErrorCode("versionGap", .retry)
    /// More unanswered changesets than `limits.uploadWindow`.
    public static let uploadWindowExceeded = SyncErrorCode("uploadWindowExceeded", .retry)
    /// It can't be decided now whether the user may open the partition.
    public static let permissionsUnavailable = SyncErrorCode("permissionsUnavailable", .retry)
    /// The device, its user or the app requests more partitions without a stored grant than the rate limit allows.
    public static let tooManyQuestions = SyncErrorCode("tooManyQuestions", .retry)
    /// The gateway can't be sure of its grants: nothing is sent for now.
    public static let suspended = SyncErrorCode("suspended", .wait)
    /// No `hello`, or nothing at all, for too long.
    public static let timedOut = SyncErrorCode("timedOut", .retry)
    /// The gateway is stopping, or has too much to do.
    public static let unavailable = SyncErrorCode("unavailable", .retry)
    /// A fault of the gateway.
    public static let internalError = SyncErrorCode("internalError", .retry)
    /// The user may not do that; also the code of rejected changesets and of `revoked`.
    public static let notPermitted = SyncErrorCode("notPermitted", .close)
    /// A document doesn't match the schema; only in `rejected`.
    public static let schemaViolation = SyncErrorCode("schemaViolation", .close)
    /// Update operators that are malformed or don't fit the document; only in `rejected`.
    public static let badUpdate = SyncErrorCode("badUpdate", .close)
    /// An `_id` that is missing or can't be a key; only in `rejected`.
    public static let badId = SyncErrorCode("badId", .close)
    /// A collection that the app doesn't sync; only in `rejected`.
    public static let unknownCollection = SyncErrorCode("unknownCollection", .close)
    /// A document of another partition; only in `rejected`.
    public static let wrongPartition = SyncErrorCode("wrongPartition", .close)
    /// A document beyond the limit; only in `rejected`.
    public static let documentTooLarge = SyncErrorCode("documentTooLarge", .close)
    /// A version so old that the server can't tell whether it has this changeset or another one; only in `rejected`.
    public static let outcomeUnknown = SyncErrorCode("outcomeUnknown", .close)

    /// Every code of this version.
    public static let all: [SyncErrorCode] = [
        .badFrame, .frameTooLarge, .unsupportedProtocol, .helloExpected, .alreadyOpen, .unknownApp, .badToken,
        .tokenExpired, .userDisabled, .sessionEnded, .tooManyConnections, .userChanged, .unknownPartition,
        .notSubscribed, .tooManySubscriptions, .versionGap, .uploadWindowExceeded, .permissionsUnavailable,
        .tooManyQuestions, .suspended, .timedOut, .unavailable, .internalError, .notPermitted, .schemaViolation,
        .badUpdate, .badId, .unknownCollection, .wrongPartition, .documentTooLarge, .outcomeUnknown,
    ]
}

/// A frame that can't be parsed.
public struct SyncProtocolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `badFrame`, `frameTooLarge` or `unsupportedProtocol`.
    public var code: SyncErrorCode
    /// A description for people; it contains nothing of the frame but field names.
    public var message: String
    /// The byte offset at which the error was detected when the text isn't valid; 0 when a field is wrong.
    public var offset: Int

    public init(code: SyncErrorCode, message: String, offset: Int = 0) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    public var description: String { "\(message) (\(code) at byte \(offset))" }
}

/// The numbers of errors between client and server (Realm sync protocol, errors).
///
/// The numbers that are missing here (104, 202, 203, 205, 207, 214, 215, 218 to 221, 224) must never be sent: current clients end the
/// app's process when they receive one.
public enum RealmErrorCode: Int, Hashable, Sendable {
    // Of a connection, which is closed.
    case connectionClosed = 100
    case otherError = 101
    case unknownMessage = 102
    case badSyntax = 103
    case wrongProtocolVersion = 105
    case badSessionIdent = 106
    case reuseOfSessionIdent = 107
    case boundInOtherSession = 108
    case badMessageOrder = 109
    case badDecompression = 110
    case badChangesetHeader = 111
    case badChangesetSize = 112
    case switchToFlexible = 113
    case switchToPartitions = 114
    // Of a session.
    case sessionClosed = 200
    case otherSessionError = 201
    case illegalRealmPath = 204
    case permissionDenied = 206
    case badClientFileIdent = 208
    case badServerVersion = 209
    case badClientVersion = 210
    case divergingHistories = 211
    case badChangeset = 212
    case badOriginFileIdent = 216
    case badClientFile = 217
    case clientFileExpired = 222
    case userMismatch = 223
    case invalidSchemaChange = 225
    case badQuery = 226
    case objectAlreadyExists = 227
    case serverPermissionsChanged = 228
    case initialSyncNotCompleted = 229
    case writeNotAllowed = 230
    case compensatingWrite = 231
    case migrateToFlexible = 232
    case badProgress = 233
    case revertToPartitions = 234
    case badSchemaVersion = 235
    case schemaVersionChanged = 236
}

/// Why something of a Realm client isn't taken.
package enum RealmRefusal: Error {
    /// The app doesn't sync, or isn't deployed.
    case notSynced
    /// Another gateway changes the history.
    case busy
    /// It isn't known now whether the user may write.
    case undecided
    /// The user makes client files faster than devices do.
    case tooManyFiles
    /// The client's file or its history isn't the server's: it has to begin anew.
    case reset(RealmErrorCode, String)
    /// The client's classes aren't the app's.
    case schema(String)
    /// The app's schema lacks some of the client's classes or properties.
    case lacking(ObjectSchema, String)

    /// What the client has isn't a state of this history: the database was restored, for instance.
    static let anotherHistory = RealmRefusal.reset(
        .divergingHistories, "the client has another history than the server")

    /// What a client whose protocol has no compensating writes is told of writes that are undone, after it was sent that: it begins anew,
    /// since its app has to know.
    static func undone(_ write: SessionError.CompensatingWrite) -> RealmRefusal {
        .reset(.divergingHistories, "a write was refused and is undone: \(write.rejected.first?.reason ?? "")")
    }

    /// The error that a session of the client ends with.
    package var error: SessionError {
        switch self {
        case .notSynced:
            SessionError(.otherSessionError, "the app's sync is off", action: .transient, triesAgain: true)
        case .busy: .busy
        case .undecided:
            SessionError(
                .otherSessionError, "it can't be decided now who may write in the partition", action: .transient,
                triesAgain: true)
        case .tooManyFiles:
            SessionError(
                .otherSessionError, "the user has opened the partition on too many new devices; try again later",
                action: .transient, triesAgain: true)
        case .reset(let code, let message): SessionError(code, message, action: .clientReset, triesAgain: false)
        case .schema(let message), .lacking(_, let message):
            SessionError(.invalidSchemaChange, message, action: .applicationBug, triesAgain: false)
        }
    }
}

extension SessionError {
    /// What is tried again succeeds soon.
    fileprivate static var busy: SessionError {
        var error = SessionError(.otherSessionError, "try again", action: .transient, triesAgain: true)
        error.backoff = .init(seconds: 1, maximumSeconds: 30, multiplier: 2)
        return error
    }
}

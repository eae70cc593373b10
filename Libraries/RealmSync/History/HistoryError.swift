/// Why a client's upload is refused. None of it is integrated then.
public enum HistoryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The history has no such version, or no longer. Code 209 of the protocol.
    case badServerVersion(UInt64)
    /// The versions of the client don't ascend. Code 210 of the protocol.
    case badClientVersion(UInt64)
    /// The changeset was made in another file than the one that uploads it. Code 216 of the protocol.
    case badOriginFileIdent(UInt64)
    /// A changeset can't be read. Code 212 of the protocol.
    case unreadable(clientVersion: UInt64, ChangesetError)
    /// An entry of the history can't be read: a fault of the server.
    case damagedHistory(serverVersion: UInt64, ChangesetError)
    /// A changeset contradicts the history, which is code 212 of the protocol; or merging takes too much work, after which the client
    /// has to be reset.
    case contradictory(TransformError)

    public var description: String {
        switch self {
        case .badServerVersion(let version): "the history has no version \(version)"
        case .badClientVersion(let version): "the client's version \(version) isn't newer than the one before"
        case .badOriginFileIdent(let ident):
            "a changeset was made in the client file \(ident), not in the one that uploads it"
        case .unreadable(let version, let error): "the changeset of the client's version \(version): \(error)"
        case .damagedHistory(let version, let error): "the version \(version) of the history: \(error)"
        case .contradictory(let error): "\(error)"
        }
    }
}

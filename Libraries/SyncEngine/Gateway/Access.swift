/// What a grant lets a user do with a partition.
public enum Access: String, Comparable, Sendable {
    case none, read, write

    private var rank: Int {
        switch self {
        case .none: 0
        case .read: 1
        case .write: 2
        }
    }

    public static func < (a: Access, b: Access) -> Bool { a.rank < b.rank }
}

import SyncEngine
import SyncProtocol

extension ConnectionStateMachine.Refusal {
    /// The code that the device receives.
    var errorCode: SyncErrorCode {
        switch self {
        case .helloExpected: .helloExpected
        case .alreadyOpen: .alreadyOpen
        case .tokenExpired: .tokenExpired
        case .userChanged: .userChanged
        case .tooManySubscriptions: .tooManySubscriptions
        case .notSubscribed: .notSubscribed
        case .uploadWindowExceeded: .uploadWindowExceeded
        case .timedOut, .closed: .timedOut
        }
    }

    var message: String {
        switch self {
        case .helloExpected: "the first frame must be hello"
        case .alreadyOpen: "hello was sent already"
        case .tokenExpired: "the access token has expired; get a new one and send it before the next expires"
        case .userChanged: "a connection belongs to one user; open another one"
        case .tooManySubscriptions: "too many partitions are open; close one first"
        case .notSubscribed: "open the partition first"
        case .uploadWindowExceeded:
            "wait for answers before sending more changesets; at most \(DevicePartition.uploadWindow) of a partition may be unanswered"
        case .timedOut, .closed: "nothing was heard for too long"
        }
    }
}

import EventLoop
import RealmSync

/// An upload that waits for its turn, or for others to take it along.
final class WaitingUpload: Sendable {
    let upload: RealmUpload
    private let state = Locked<RealmUpload.Integration?>(nil)

    init(_ upload: RealmUpload) { self.upload = upload }

    var result: RealmUpload.Integration? { state.withLock { $0 } }

    func end(_ result: RealmUpload.Integration) { state.withLock { $0 = result } }
}

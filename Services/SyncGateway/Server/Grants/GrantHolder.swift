import DocumentModel
import SyncEngine

/// Who serves a partition by a grant, which may expire. Confined to a loop.
protocol GrantHolder: AnyObject {
    /// The grant; `nil` when it isn't needed any more.
    var heldGrant: StandingGrant? { get }
    /// Whose it is: the same for all who would ask for the same.
    var grantKey: ExactText { get }
    /// Milliseconds since 1970.
    var wallTime: Int64 { get }
    /// The grant has expired, or is valid again.
    func rightsChanged()
    /// Asks for the grant again. The answer comes later, or not at all.
    func askForGrant()
}

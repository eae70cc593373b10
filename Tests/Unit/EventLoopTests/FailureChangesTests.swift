import EventLoop
import Testing

struct FailureChangesTests {
    @Test func `a cause is reported once, until it changes or passes`() {
        var failures = FailureChanges()
        let before = failures.recovered()
        #expect(!before)
        let said = ["refused", "refused", "wrong password", "refused"].map { failures.isNew($0) }
        #expect(said == [true, false, true, true])
        let recovered = [failures.recovered(), failures.recovered()]
        #expect(recovered == [true, false])
        let again = failures.isNew("refused")
        #expect(again)
    }
}

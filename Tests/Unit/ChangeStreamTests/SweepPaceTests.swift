import Testing

@testable import ChangeStream

@Suite struct SweepPaceTests {
    @Test(arguments: [
        (Duration.zero, 30_000), (.milliseconds(150), 30_000), (.milliseconds(200), 39_800), (.seconds(2), 398_000),
        (.seconds(60), 600_000), (.seconds(1_000_000), 600_000),
    ])
    func `searches of everything take a two-hundredth of the time, and come every ten minutes at least`(
        search: Duration, milliseconds: Int
    ) {
        #expect(SweepPace(interval: .seconds(30)).wait(after: search) == .milliseconds(milliseconds))
    }
}

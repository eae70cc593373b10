import Testing

@testable import EventStream

@Suite struct OffsetTrackerTests {
    @Test func `only what is finished without a gap may be committed`() {
        var tracker = OffsetTracker()
        for offset: Int64 in [5, 6, 8, 9] { tracker.begin(offset) }
        #expect(tracker.finish(6) == nil)
        #expect(tracker.finish(5) == 7)
        #expect(tracker.finish(9) == nil)
        #expect(tracker.finish(9) == nil)
        #expect(tracker.finish(7) == nil)
        #expect(tracker.finish(8) == 10)
        #expect(tracker.count == 0)
    }

    @Test func `a released offset counts as finished, and later ones don't wait for it`() {
        var tracker = OffsetTracker()
        #expect(tracker.letGo() == nil)
        for offset: Int64 in [5, 6, 8] { tracker.begin(offset) }
        #expect(tracker.letGo() == 9)
        #expect(tracker.letGo() == nil)
        tracker.begin(9)
        #expect(tracker.finish(6) == nil)
        #expect(tracker.finish(9) == 10)
    }

    @Test func `thousands are forgotten as they finish`() {
        var tracker = OffsetTracker()
        for offset in 0..<5000 as Range<Int64> { tracker.begin(offset) }
        for offset in 0..<5000 as Range<Int64> { #expect(tracker.finish(offset) == offset + 1) }
        tracker.begin(9000)
        #expect(tracker.finish(9000) == 9001)
    }
}

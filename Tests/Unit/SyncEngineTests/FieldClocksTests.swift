import DocumentModel
import SyncEngine
import Testing

struct FieldClocksTests {
    private func stamp(_ device: String, _ milliseconds: Int64) -> WriteStamp {
        WriteStamp(author: device, time: HybridTime(milliseconds: milliseconds))
    }

    private func revision(_ number: Int64) -> Revision { Revision(epoch: 1, number: number) }

    @Test func `the text reads back as it was written`() throws {
        var clocks = FieldClocks(inserted: stamp("d1", 100), revision: revision(1))
        clocks.write("a.b", by: stamp("d2", 200), revision: revision(2))
        clocks.write("z \"quoted\"", by: stamp(WriteStamp.serverAuthor, 300), revision: revision(3))
        #expect(try FieldClocks(text: clocks.text) == clocks)
        #expect(clocks.text.hasPrefix(#"{"d":[6553600,"d1","1.1"],"p":{"a.b":[13107200,"d2","1.2","1.1"]"#))
    }

    @Test(arguments: ["", "{}", "[]", #"{"d":[1,"a"]}"#, #"{"d":[1,"a","x"]}"#, #"{"d":[1,"a","1.1"],"p":[]}"#])
    func `a text that is no clocks is refused`(text: String) {
        #expect(throws: SyncEngineError.self) { try FieldClocks(text: text) }
    }

    @Test func `beyond the cap the oldest collapse, and never look older than they are`() {
        var clocks = FieldClocks(inserted: stamp("d0", 1), revision: revision(1))
        var written: [(path: String, time: Int64, revision: Int64)] = []
        for number in 0..<200 as Range<Int64> {
            let path = number.isMultiple(of: 3) ? "p.f\(number)" : "f\(number)"
            let time = 1000 + (number * 37) % 101
            clocks.write(path, by: stamp("d\(number % 5)", time), revision: revision(number + 2))
            written.append((path, time, number + 2))
        }
        #expect(clocks.paths.count <= FieldClocks.cap)
        for write in written {
            let clock = clocks.covering(write.path)
            #expect(clock.time >= HybridTime(milliseconds: write.time))
            #expect(clock.revision >= revision(write.revision))
        }
    }

    @Test func `a server's write raises the clocks of what it changed, an array as one`() {
        var clocks = FieldClocks(inserted: stamp("d1", 100), revision: revision(1))
        let description = UpdateDescription(
            updatedFields: ["list.2": 3, "p.x": 1], removedFields: ["gone"],
            truncatedArrays: [.init(field: "short", newSize: 1)])
        clocks.record(
            description, in: ["list": [1, 2, 3], "p": ["x": 1], "short": [1]], by: stamp("", 200), revision: revision(2)
        )
        #expect(Set(clocks.paths.keys) == ["list", "p.x", "gone", "short"])
    }

    @Test func `provisional revisions become the assigned ones`() {
        var document = StoredDocument(
            document: ["_id": 1], incarnation: .provisional(0), revision: .provisional(1),
            clocks: FieldClocks(inserted: stamp("d1", 100), revision: .provisional(0)))
        document.clocks.write("a", by: stamp("d2", 100), revision: .provisional(1))
        document.mapRevisions { revision(50 + $0.number) }
        #expect(document.incarnation == revision(50))
        #expect(document.revision == revision(51))
        #expect(document.clocks.covering("a").revision == revision(51))
        #expect(document.clocks.covering("a").foreign == revision(50))
        #expect(Revision.provisional(0) > Revision(epoch: 9, number: .max))
    }

    @Test func `a device's clock is corrected by its offset and clamped to the server's`() {
        let now = HybridTime(milliseconds: 1_000_000, counter: 5)
        // A device that is an hour ahead.
        let ahead = ClockCorrection(sentAt: 4_600_000, receivedAt: 1_000_000)
        #expect(ahead.corrected(HybridTime(milliseconds: 4_500_000), now: now) == HybridTime(milliseconds: 900_000))
        #expect(ahead.corrected(HybridTime(milliseconds: 9_000_000), now: now) == now)
        // Nothing overflows, whatever a device sends.
        for sentAt in [Int64.min, -1, 0, .max] {
            for clock in [Int64.min, 0, .max] {
                let corrected = ClockCorrection(sentAt: sentAt, receivedAt: 1_000_000)
                    .corrected(HybridTime(bits: clock), now: now)
                #expect(corrected <= now)
            }
        }
    }

    @Test func `a hybrid clock never goes back`() {
        var clock = HybridClock()
        var last = clock.tick(milliseconds: 1000)
        for milliseconds in [1000, 900, 1000, 1001, 5] as [Int64] {
            let next = clock.tick(milliseconds: milliseconds)
            #expect(next > last)
            last = next
        }
        clock.observe(HybridTime(milliseconds: 5000))
        #expect(clock.tick(milliseconds: 10) > HybridTime(milliseconds: 5000))
    }
}

import DocumentModel
import SyncEngine
import Testing

@Suite struct HoldingsTests {
    /// The sums were computed in Python from the description in SyncProtocol.md.
    @Test func `documents have the sum that the protocol describes`() {
        #expect(Holdings().text == "0/0000000000000000")
        #expect(holdings(("1.1", "1.1")).text == "1/28b73ff60827dcd0")
        #expect(holdings(("1.42", "1.7"), ("2.1000000", "1.43")).text == "2/f97247d7ebe0442b")
        #expect(holdings(("2.1000000", "1.43"), ("1.42", "1.7")).text == "2/f97247d7ebe0442b")
    }

    @Test func `what differs in any document has another sum`() {
        var sums: Set<String> = []
        for first in 1...60 {
            for second in (first + 1)...61 {
                sums.insert(holdings(("1.\(first)", "1.1"), ("1.\(second)", "1.1")).text)
            }
        }
        #expect(sums.count == 60 * 61 / 2)
        #expect(holdings(("1.5", "1.1")) != holdings(("1.5", "1.2")))
        #expect(holdings(("1.5", "1.1")) != holdings(("2.5", "1.1")))
    }

    @Test(arguments: [
        "", "1", "1/", "/0000000000000000", "1/000000000000000", "1/00000000000000000", "+1/0000000000000000",
        "01/0000000000000000", "-1/0000000000000000", "1/000000000000000A", "1/000000000000000g", "1/0000000000000000/",
    ])
    func `other texts are none`(_ text: String) { #expect(Holdings(text) == nil) }

    @Test func `a text is read as it was written`() throws {
        let holdings = holdings(("1.42", "1.7"), ("2.1000000", "1.43"))
        #expect(Holdings(holdings.text) == holdings)
    }

    private func holdings(_ documents: (revision: String, incarnation: String)...) -> Holdings {
        var holdings = Holdings()
        for document in documents {
            guard let revision = Revision(document.revision), let incarnation = Revision(document.incarnation) else {
                Issue.record("no revision: \(document)")
                continue
            }
            holdings.add(revision: revision, incarnation: incarnation)
        }
        return holdings
    }
}

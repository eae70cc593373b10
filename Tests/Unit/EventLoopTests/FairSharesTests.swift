import EventLoop
import Testing

@Suite struct FairSharesTests {
    // #expect can't take a mutating function's result.
    private func take(_ shares: inout FairShares<String, Int>, _ owner: String) -> Bool { shares.take(owner) }

    private func isDone(_ shares: inout FairShares<String, Int>) -> Bool { shares.next() == nil }

    @Test func `an owner that releases nothing leaves places to those after it`() {
        var shares = FairShares<String, Int>(places: 8)
        for owner in ["a", "b", "c", "d"] {
            for work in 0..<20 { shares.append(work, of: owner) }
            while shares.next() != nil {}
        }
        #expect(shares.taken == 8)
        #expect(shares.waiting("a") == 16)
        #expect(shares.waiting("b") == 18)
        #expect(shares.waiting("c") == 19)
        #expect(shares.waiting("d") == 19)
        shares.release("d")
        // The last one is for an owner that has none.
        let last = shares.next()
        #expect(last?.owner == "d")
        shares.release("a")
        #expect(take(&shares, "b") == false)
        #expect(take(&shares, "e"))
    }

    @Test func `owners have their turns one after the other, each one's work in its order`() {
        var shares = FairShares<String, Int>(places: 1)
        for work in 1...3 { shares.append(work, of: "a") }
        shares.append(1, of: "b")
        #expect(take(&shares, "a") == false)
        var order: [String] = []
        while let (owner, work) = shares.next() {
            order.append("\(owner)\(work)")
            shares.release(owner)
        }
        #expect(order == ["a1", "b1", "a2", "a3"])
        #expect(shares.taken == 0)
        #expect(take(&shares, "a"))
    }

    @Test func `a member's many jobs don't delay another member's one`() {
        var shares = FairShares<String, Int>(places: 16)
        for work in 0..<1000 { shares.append(work, of: "app", member: "mallory") }
        var taken = 0
        while shares.next() != nil { taken += 1 }
        #expect(taken < 8, "the member leaves something of what the owner may have")
        shares.append(-1, of: "app", member: "mia")
        #expect(next(&shares) == -1)
        for work in 0..<1000 { shares.append(-2 - work, of: "app", member: "nat") }
        while shares.next() != nil {}
        // Whatever the members hold, another owner finds a place.
        shares.append(5000, of: "other", member: "mallory")
        #expect(next(&shares) == 5000)
        // Turns rotate, even if one has asked for more.
        shares.append(-5000, of: "app", member: "zoe")
        var order: [Int] = []
        for _ in 0..<3 {
            shares.release("app", member: "mallory")
            if let work = next(&shares) { order.append(work) }
        }
        #expect(order.contains(-5000), "\(order)")
    }

    @Test func `a member alone has its jobs in their order`() {
        var shares = FairShares<String, Int>(places: 1)
        for work in 1...3 { shares.append(work, of: "app", member: "mia") }
        shares.append(10, of: "app", member: "nat")
        var order: [Int] = []
        while let (owner, work) = shares.next() {
            order.append(work)
            shares.release(owner, member: work == 10 ? "nat" : "mia")
        }
        #expect(order == [1, 10, 2, 3] && shares.taken == 0)
    }

    private func next(_ shares: inout FairShares<String, Int>) -> Int? { shares.next()?.work }

    @Test func `work that is withdrawn leaves no turn behind`() {
        var shares = FairShares<String, Int>(places: 2)
        shares.append(1, of: "a")
        shares.append(2, of: "b")
        shares.append(3, of: "b")
        let removed = [("a", 1), ("a", 1), ("b", 2)].map { owner, work in shares.remove(of: owner) { $0 == work } }
        #expect(removed == [1, nil, 2])
        let only = shares.next()
        #expect(only?.work == 3)
        #expect(isDone(&shares))
        shares.append(4, of: "a")
        let all = shares.removeAll()
        #expect(all == [4])
        #expect(isDone(&shares))
    }
}

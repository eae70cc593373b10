/// Places in two ascending lists, in ascending order.
struct MergeCandidates: IteratorProtocol {
    private var all: Range<Int> = 0..<0
    private var first: ArraySlice<Int> = []
    private var second: ArraySlice<Int> = []

    /// Every place below a number.
    init(all count: Int) { all = 0..<count }

    /// The places of both lists, which have none in common.
    init(_ first: ArraySlice<Int>, _ second: ArraySlice<Int>) {
        self.first = first
        self.second = second
    }

    mutating func next() -> Int? {
        if !all.isEmpty { return all.removeFirst() }
        guard let a = first.first else { return second.popFirst() }
        guard let b = second.first, b < a else { return first.popFirst() }
        return second.popFirst()
    }
}

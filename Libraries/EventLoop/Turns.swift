/// Waiting jobs. Those of one member are in order, and the members take turns. Pure.
package struct Turns<Member: Hashable, Work> {
    private var queues: [Member: FIFO<Work>] = [:]
    /// Members with waiting jobs, from `head` on; the one whose last turn is longest ago is first.
    private var order: [Member] = []
    private var head = 0
    package private(set) var count = 0

    package init() {}

    /// All waiting jobs.
    package var all: [Work] { queues.values.flatMap(\.waiting) }

    /// The number of a member's waiting jobs.
    package func count(of member: Member) -> Int { queues[member]?.waiting.count ?? 0 }

    package mutating func append(_ work: Work, of member: Member) {
        if queues[member] == nil { order.append(member) }
        queues[member, default: FIFO()].append(work)
        count += 1
    }

    /// Removes and returns the first job of the member whose turn it is among those for which `mayHave` is true. Its next turn
    /// comes after those of all others.
    package mutating func pop(where mayHave: (Member) -> Bool) -> (member: Member, work: Work)? {
        guard let index = order.indices[head...].first(where: { mayHave(order[$0]) }) else { return nil }
        let member = order[index]
        // Removed from the dictionary, so that it is modified in place.
        guard var queue = queues.removeValue(forKey: member) else { return nil }
        for passed in stride(from: index, to: head, by: -1) { order[passed] = order[passed - 1] }
        head += 1
        count -= 1
        let work = queue.removeFirst()
        if !queue.isEmpty {
            queues[member] = queue
            order.append(member)
        }
        if head > 256, head * 2 > order.count {
            order.removeFirst(head)
            head = 0
        }
        return (member, work)
    }

    package mutating func remove(where isWanted: (Work) -> Bool) -> Work? {
        for (member, queue) in queues {
            guard let index = queue.waiting.firstIndex(where: isWanted) else { continue }
            let work = queues[member]?.remove(at: index)
            count -= 1
            if queues[member]?.isEmpty == true {
                queues[member] = nil
                if let turn = order[head...].firstIndex(of: member) { order.remove(at: turn) }
            }
            return work
        }
        return nil
    }
}

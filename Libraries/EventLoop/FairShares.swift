/// Shares places out among owners so that none keeps the others out, however long it holds what it has: an owner gets a
/// further place only while more are free than it holds. Alone it comes to half of them, the next one to half of the
/// rest; and while one is free, an owner without any gets it at once. Pure.
public struct FairShares<Owner: Hashable, Work> {
    private struct Queue {
        var works: [Work] = []
        var head = 0
    }

    private let places: Int
    private var free: Int
    private var held: [Owner: Int] = [:]
    private var queues: [Owner: Queue] = [:]
    /// Owners with work, from `head` on, the longest since its last turn first.
    private var turns: [Owner] = []
    private var head = 0

    /// - Parameter places: how many there are.
    public init(places: Int) {
        self.places = places
        free = places
    }

    /// Places that are taken.
    public var taken: Int { places - free }

    /// Works of an owner that wait for a place.
    public func waiting(_ owner: Owner) -> Int { queues[owner].map { $0.works.count - $0.head } ?? 0 }

    /// Takes a place, if the owner's turn is now.
    public mutating func take(_ owner: Owner) -> Bool {
        guard waiting(owner) == 0, mayHaveMore(owner) else { return false }
        hold(owner)
        return true
    }

    /// Adds work that waits for a place.
    public mutating func append(_ work: Work, of owner: Owner) {
        if queues[owner] == nil { turns.append(owner) }
        queues[owner, default: Queue()].works.append(work)
    }

    /// The next work that gets a place, of the owner whose turn it is; `nil` when none may have one.
    public mutating func next() -> (owner: Owner, work: Work)? {
        guard free > 0 else { return nil }
        // Those passed over hold places, so they are few.
        for index in turns.indices[head...] where mayHaveMore(turns[index]) {
            let owner = turns[index]
            for passed in stride(from: index, to: head, by: -1) { turns[passed] = turns[passed - 1] }
            head += 1
            guard let work = pop(owner) else { return next() }
            compact()
            hold(owner)
            return (owner, work)
        }
        return nil
    }

    /// An owner gives a place back.
    public mutating func release(_ owner: Owner) {
        guard let count = held[owner] else { return }
        held[owner] = count > 1 ? count - 1 : nil
        free += 1
    }

    /// Takes back work that waits.
    public mutating func remove(of owner: Owner, where isWanted: (Work) -> Bool) -> Work? {
        guard let queue = queues[owner], let index = queue.works[queue.head...].firstIndex(where: isWanted) else {
            return nil
        }
        let work = queues[owner]?.works.remove(at: index)
        if waiting(owner) == 0 {
            queues[owner] = nil
            if let turn = turns[head...].firstIndex(of: owner) { turns.remove(at: turn) }
        }
        return work
    }

    /// Takes back all that waits.
    public mutating func removeAll() -> [Work] {
        defer {
            queues = [:]
            turns = []
            head = 0
        }
        return queues.values.flatMap { $0.works[$0.head...] }
    }

    private func mayHaveMore(_ owner: Owner) -> Bool { held[owner, default: 0] < free }

    private mutating func hold(_ owner: Owner) {
        free -= 1
        held[owner, default: 0] += 1
    }

    /// The owner's first work; its next turn is after everybody else's.
    private mutating func pop(_ owner: Owner) -> Work? {
        // Taken out, so that it changes in place.
        guard var queue = queues.removeValue(forKey: owner), queue.head < queue.works.count else { return nil }
        let work = queue.works[queue.head]
        queue.head += 1
        if queue.head == queue.works.count { return work }
        if queue.head > 64, queue.head * 2 > queue.works.count {
            queue.works.removeFirst(queue.head)
            queue.head = 0
        }
        queues[owner] = queue
        turns.append(owner)
        return work
    }

    private mutating func compact() {
        guard head > 256, head * 2 > turns.count else { return }
        turns.removeFirst(head)
        head = 0
    }
}

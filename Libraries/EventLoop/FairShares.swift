public import Texts

/// Shares places out among owners so that none keeps the others out, however long it holds what it has: an owner gets a
/// further place only while more are free than it holds. Alone it comes to half of them, the next one to half of the
/// rest; and while one is free, an owner without any gets it at once. Pure.
///
/// An owner's work may be that of members (users of an app, say): what the owner may still have is shared out among them in
/// the same way, so that a member's thousand works don't hold up another's one.
public struct FairShares<Owner: Hashable, Work> {
    private struct Holder: Hashable {
        let owner: Owner
        let member: ExactText
    }

    private let places: Int
    private var free: Int
    private var held: [Owner: Int] = [:]
    /// By member, for those that are one.
    private var heldByMember: [Holder: Int] = [:]
    private var queues: [Owner: Turns<ExactText?, Work>] = [:]
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
    public func waiting(_ owner: Owner) -> Int { queues[owner]?.count ?? 0 }

    /// Works of an owner's member that wait for a place.
    public func waiting(_ owner: Owner, member: ExactText) -> Int { queues[owner]?.count(of: member) ?? 0 }

    /// Takes a place, if the owner's turn is now.
    /// - Parameter member: of the owner's, who takes it; `nil` where the owner has none.
    public mutating func take(_ owner: Owner, member: ExactText? = nil) -> Bool {
        guard waiting(owner) == 0, mayHaveMore(owner), mayHaveMore(owner, member) else { return false }
        hold(owner, member)
        return true
    }

    /// Adds work that waits for a place.
    /// - Parameter member: of the owner's, whose work it is; `nil` where the owner has none.
    public mutating func append(_ work: Work, of owner: Owner, member: ExactText? = nil) {
        if queues[owner] == nil { turns.append(owner) }
        queues[owner, default: Turns()].append(work, of: member)
    }

    /// The next work that gets a place, of the owner whose turn it is; `nil` when none may have one.
    public mutating func next() -> (owner: Owner, work: Work)? {
        guard free > 0 else { return nil }
        // Owners that are skipped hold places, so they are few.
        for index in turns.indices[head...] where mayHaveMore(turns[index]) {
            let owner = turns[index]
            // Taken out, so that it changes in place.
            guard var queue = queues.removeValue(forKey: owner) else { continue }
            let popped = queue.pop { mayHaveMore(owner, $0) }
            if queue.count > 0 { queues[owner] = queue }
            guard let popped else { continue }
            for passed in stride(from: index, to: head, by: -1) { turns[passed] = turns[passed - 1] }
            head += 1
            // Its next turn is after everybody else's.
            if queue.count > 0 { turns.append(owner) }
            compact()
            hold(owner, popped.member)
            return (owner, popped.work)
        }
        return nil
    }

    /// An owner gives a place back.
    /// - Parameter member: as with the work that had it.
    public mutating func release(_ owner: Owner, member: ExactText? = nil) {
        guard let count = held[owner] else { return }
        held[owner] = count > 1 ? count - 1 : nil
        free += 1
        guard let member else { return }
        let holder = Holder(owner: owner, member: member)
        let left = heldByMember[holder, default: 1] - 1
        heldByMember[holder] = left > 0 ? left : nil
    }

    /// Takes back work that waits.
    public mutating func remove(of owner: Owner, where isWanted: (Work) -> Bool) -> Work? {
        guard let work = queues[owner]?.remove(where: isWanted) else { return nil }
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
        return queues.values.flatMap(\.all)
    }

    private func mayHaveMore(_ owner: Owner) -> Bool { held[owner, default: 0] < free }

    private func mayHaveMore(_ owner: Owner, _ member: ExactText?) -> Bool {
        guard let member else { return true }
        return heldByMember[Holder(owner: owner, member: member), default: 0] < free - held[owner, default: 0]
    }

    private mutating func hold(_ owner: Owner, _ member: ExactText?) {
        free -= 1
        held[owner, default: 0] += 1
        if let member { heldByMember[Holder(owner: owner, member: member), default: 0] += 1 }
    }

    private mutating func compact() {
        guard head > 256, head * 2 > turns.count else { return }
        turns.removeFirst(head)
        head = 0
    }
}

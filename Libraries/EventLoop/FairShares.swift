public import Texts

/// Distributes places among owners so that none excludes the others, however long it keeps its places: an owner gets another place
/// only while more places are free than it holds. A single owner gets up to half of them, the next one half of the rest; and while
/// a place is free, an owner without any gets it immediately. Pure.
///
/// An owner's work may belong to members, such as the users of an app. The owner's share is distributed among them in the same way,
/// so that a thousand jobs of one member don't delay a single one of another.
public struct FairShares<Owner: Hashable, Work> {
    private struct Holder: Hashable {
        let owner: Owner
        let member: ExactText
    }

    private let places: Int
    private var free: Int
    private var held: [Owner: Int] = [:]
    /// The places held by members.
    private var heldByMember: [Holder: Int] = [:]
    private var queues: [Owner: Turns<ExactText?, Work>] = [:]
    /// Owners with waiting work, from `head` on; the one whose last turn is longest ago is first.
    private var turns: [Owner] = []
    private var head = 0

    /// - Parameter places: the total number of places.
    public init(places: Int) {
        self.places = places
        free = places
    }

    /// The number of taken places.
    public var taken: Int { places - free }

    /// The number of an owner's jobs that wait for a place.
    public func waiting(_ owner: Owner) -> Int { queues[owner]?.count ?? 0 }

    /// The number of jobs of an owner's member that wait for a place.
    public func waiting(_ owner: Owner, member: ExactText) -> Int { queues[owner]?.count(of: member) ?? 0 }

    /// Takes a place, if the owner may have one now.
    /// - Parameter member: the owner's member who takes it; `nil` if the owner has no members.
    public mutating func take(_ owner: Owner, member: ExactText? = nil) -> Bool {
        guard waiting(owner) == 0, mayHaveMore(owner), mayHaveMore(owner, member) else { return false }
        hold(owner, member)
        return true
    }

    /// Adds work that waits for a place.
    /// - Parameter member: the owner's member whose work it is; `nil` if the owner has no members.
    public mutating func append(_ work: Work, of owner: Owner, member: ExactText? = nil) {
        if queues[owner] == nil { turns.append(owner) }
        queues[owner, default: Turns()].append(work, of: member)
    }

    /// Gives a place to the next work, that of the owner whose turn it is; `nil` when no work may have one.
    public mutating func next() -> (owner: Owner, work: Work)? {
        guard free > 0 else { return nil }
        // Owners that are skipped hold places, so they are few.
        for index in turns.indices[head...] where mayHaveMore(turns[index]) {
            let owner = turns[index]
            // Removed from the dictionary, so that it is modified in place.
            guard var queue = queues.removeValue(forKey: owner) else { continue }
            let popped = queue.pop { mayHaveMore(owner, $0) }
            if queue.count > 0 { queues[owner] = queue }
            guard let popped else { continue }
            for passed in stride(from: index, to: head, by: -1) { turns[passed] = turns[passed - 1] }
            head += 1
            // Its next turn comes after those of all others.
            if queue.count > 0 { turns.append(owner) }
            compact()
            hold(owner, popped.member)
            return (owner, popped.work)
        }
        return nil
    }

    /// Releases a place of an owner.
    /// - Parameter member: the member whose work had the place.
    public mutating func release(_ owner: Owner, member: ExactText? = nil) {
        guard let count = held[owner] else { return }
        held[owner] = count > 1 ? count - 1 : nil
        free += 1
        guard let member else { return }
        let holder = Holder(owner: owner, member: member)
        let left = heldByMember[holder, default: 1] - 1
        heldByMember[holder] = left > 0 ? left : nil
    }

    /// Removes waiting work.
    public mutating func remove(of owner: Owner, where isWanted: (Work) -> Bool) -> Work? {
        guard let work = queues[owner]?.remove(where: isWanted) else { return nil }
        if waiting(owner) == 0 {
            queues[owner] = nil
            if let turn = turns[head...].firstIndex(of: owner) { turns.remove(at: turn) }
        }
        return work
    }

    /// Removes all waiting work.
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

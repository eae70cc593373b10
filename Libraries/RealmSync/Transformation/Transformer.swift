/// Operational transformation of changesets that were made concurrently (Realm sync protocol, merge rules of realm-core 14).
///
/// Two sides have changed the same state: `history`, what others have done, and `incoming`, what one client has done. The merge
/// changes both so that `incoming` can be applied after `history`, and `history` after `incoming`, with the same result. The client
/// does the same with the sides exchanged and gets the same changesets. So these rules can't be improved: where they differ from
/// those in the SDKs, replicas diverge.
///
/// Some rules of realm-core don't converge, and are kept as they are:
/// - Moving an element doesn't move what the other side changes inside of it; instead the move's own source changes.
/// - Two `SetErase` of strings, binaries or links are taken for the same if their values have the same place in the string buffer, or
///   the same numbers in the table, of their changesets.
/// - Clearing a collection inside of a list doesn't follow the list's elements.
/// - An erased column loses only `Update`s of the other side.
public struct Transformer: Sendable {
    /// The work that merges may still do: one for each changeset, instruction and interned string that is read, and for each pair of
    /// instructions that is compared one or, if that is more, the number of steps of their paths. A merge that needs more is refused, so that a client can't keep the server busy with
    /// many edits of one object.
    public private(set) var budget: Int

    /// The budget of one upload by default, about a quarter of a second.
    public static let defaultBudget = 5_000_000

    /// How many bytes of strings are looked up for one unit of work.
    private static let bytesPerUnit = 64

    /// - Parameter budget: The work that merges may do altogether.
    public init(budget: Int = Self.defaultBudget) { self.budget = budget }

    /// Merges two sides with the same base.
    /// - Throws: `TransformError`; then both sides are as they were.
    public mutating func merge(
        history: inout [MergedChangeset], incoming: inout [MergedChangeset]
    ) throws(TransformError) {
        var table = SymbolTable()
        try spend(history.reduce(0) { $0 + cost(of: $1) } + incoming.reduce(0) { $0 + cost(of: $1) })
        var outer = MergeSide(history, &table), inner = MergeSide(incoming, &table)
        try spend(table.lookedUpBytes / Self.bytesPerUnit)
        inner.group(objectCount: table.objectCount)
        var place = 0
        while place < outer.nodes.count {
            try merge(&place, of: &outer, with: &inner, objectCount: table.objectCount)
            place += 1
        }
        history = outer.merged()
        incoming = inner.merged()
    }

    /// What reading a changeset costs.
    private func cost(of merged: MergedChangeset) -> Int {
        1 + merged.changeset.instructions.count + merged.changeset.strings.ranges.count
    }

    private mutating func spend(_ work: Int) throws(TransformError) {
        guard work <= budget else {
            budget = 0
            throw TransformError(
                .tooMuchWork, "merging needs more work than the budget: too many edits of the same objects")
        }
        budget -= work
    }

    /// Merges one instruction of the outer side with all of the inner side.
    /// - Parameter place: The instruction's, which changes if another one is inserted before it.
    private mutating func merge(
        _ place: inout Int, of outer: inout MergeSide, with inner: inout MergeSide, objectCount: Int
    ) throws(TransformError) {
        var node = outer.nodes[place]
        var candidates = inner.candidates(for: node)
        while !node.isDiscarded, let other = candidates.next() {
            // Passing a discarded one costs time, too.
            try spend(max(1, min(node.path.count, inner.nodes[other].path.count)))
            guard !inner.nodes[other].isDiscarded else { continue }
            let insertion = try MergeRules.merge(&node, &inner.nodes[other])
            guard insertion != .none else { continue }
            if insertion == .beforeFirst, let names = inner.names(of: inner.nodes[other]) {
                try spend(outer.nodes.count)
                // The inserted instruction meets the rest of the inner side first, and the one before which it is then meets
                // all of it again.
                outer.nodes[place] = node
                outer.insertErasure(at: place, of: inner.nodes[other], table: names.table, field: names.field)
                node = outer.nodes[place]
            } else if insertion == .beforeSecond, let names = outer.names(of: node) {
                try spend(inner.nodes.count + objectCount)
                inner.insertErasure(at: other, of: node, table: names.table, field: names.field)
                inner.group(objectCount: objectCount)
            }
        }
        outer.nodes[place] = node
    }
}

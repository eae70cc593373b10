/// Elements of the same list.
extension MergeRules {
    static func mergeLists(
        _ a: inout MergeNode, _ b: inout MergeNode, _ first: Edit, _ second: Edit
    ) throws(TransformError) {
        guard a.path.last?.index != nil, b.path.last?.index != nil else {
            throw TransformError(.inconsistentPath, "one side takes a value for a list, and the other one doesn't")
        }
        switch (first, second) {
        case (.updateElement(let value, let size), .arrayInsert(_, let otherSize)):
            try check(size == otherSize && a.index < size && b.index <= size)
            a.change(.updateElement(value, priorSize: size &+ 1))
            if a.index >= b.index { a.index += 1 }
        case (.updateElement(let value, let size), .arrayErase(let otherSize)):
            try check(size == otherSize && a.index < size && b.index < size)
            a.change(.updateElement(value, priorSize: size &- 1))
            if a.index == b.index { a.isDiscarded = true }
            if a.index > b.index { a.index -= 1 }
        case (.updateElement(_, let size), .arrayMove(let target, let otherSize)):
            try check(a.index < size && b.index < otherSize && target < otherSize)
            let (source, target) = (b.index, Int(target))
            if a.index == source {
                a.index = target
            } else {
                var index = a.index
                if index > source { index -= 1 }
                if index >= target { index += 1 }
                a.index = index
            }
        case (.arrayInsert(let value, let size), .arrayInsert(let other, let otherSize)):
            try check(size == otherSize && a.index <= size && b.index <= size)
            a.change(.arrayInsert(value, priorSize: size &+ 1))
            b.change(.arrayInsert(other, priorSize: size &+ 1))
            if a.index > b.index || a.index == b.index && a.isLater(than: b) { a.index += 1 } else { b.index += 1 }
        case (.arrayInsert, .arrayMove(let target, let size)):
            mergeInsertMove(&a, &b, Int(target), size)
        case (.arrayInsert(let value, let size), .arrayErase(let otherSize)):
            try check(size == otherSize && a.index <= size && b.index < size)
            a.change(.arrayInsert(value, priorSize: size &- 1))
            b.change(.arrayErase(priorSize: size &+ 1))
            if a.index <= b.index { b.index += 1 } else { a.index -= 1 }
        case (.arrayMove(let target, let size), .arrayMove(let otherTarget, let otherSize)):
            try check(size == otherSize && a.index < size && b.index < size && target < size && otherTarget < size)
            mergeMoves(&a, &b, Int(target), Int(otherTarget), size)
        case (.arrayMove(let target, let size), .arrayErase(let otherSize)):
            try check(size == otherSize && a.index < size && b.index < size && target < size)
            mergeMoveErase(&a, &b, Int(target), size)
        case (.arrayErase(let size), .arrayErase(let otherSize)):
            try check(size == otherSize && a.index < size && b.index < size)
            a.change(.arrayErase(priorSize: size &- 1))
            b.change(.arrayErase(priorSize: size &- 1))
            if a.index == b.index {
                a.isDiscarded = true
                b.isDiscarded = true
            } else if a.index > b.index {
                a.index -= 1
            } else {
                b.index -= 1
            }
        default: break
        }
    }

    private static func check(_ isConsistent: Bool) throws(TransformError) {
        guard isConsistent else {
            throw TransformError(.inconsistentList, "the sides disagree about the size of a list")
        }
    }

    private static func mergeInsertMove(_ insert: inout MergeNode, _ move: inout MergeNode, _ to: Int, _ size: UInt32) {
        var (index, source, target) = (insert.index, move.index, to)
        if index > source { index -= 1 } else { source += 1 }
        if index < target || index == target && insert.isLater(than: move) { target += 1 } else { index += 1 }
        insert.index = index
        move.index = source
        move.change(.arrayMove(to: UInt32(truncatingIfNeeded: target), priorSize: size &+ 1))
    }

    private static func mergeMoveErase(_ move: inout MergeNode, _ erase: inout MergeNode, _ to: Int, _ size: UInt32) {
        var (index, source, target) = (erase.index, move.index, to)
        if index == source {
            erase.index = target
            move.isDiscarded = true
            return
        }
        if index > source { index -= 1 } else { source -= 1 }
        if index >= target { index += 1 } else { target -= 1 }
        erase.index = index
        setMove(&move, source, target, size &- 1)
    }

    private static func mergeMoves(
        _ a: inout MergeNode, _ b: inout MergeNode, _ to: Int, _ otherTo: Int, _ size: UInt32
    ) {
        var (source, target, otherSource, otherTarget) = (a.index, to, b.index, otherTo)
        if source == otherSource {
            // The later move is made from where the earlier one has put the element.
            if a.isLater(than: b) {
                b.isDiscarded = true
                setMove(&a, otherTarget, target, size)
            } else {
                a.isDiscarded = true
                setMove(&b, target, otherTarget, size)
            }
            return
        }
        if source < otherSource { otherSource -= 1 } else { source -= 1 }
        if target > otherSource { target -= 1 } else { otherSource += 1 }
        if source < otherTarget { otherTarget -= 1 } else { source += 1 }
        if target < otherTarget || target == otherTarget && b.isLater(than: a) {
            otherTarget += 1
        } else {
            target += 1
        }
        setMove(&a, source, target, size)
        setMove(&b, otherSource, otherTarget, size)
    }

    /// Changes a move, which is discarded if nothing moves.
    private static func setMove(_ move: inout MergeNode, _ source: Int, _ target: Int, _ size: UInt32) {
        guard case .edit(.arrayMove(let former, let formerSize)) = move.action else { return }
        move.index = source
        if former != target || formerSize != size {
            move.change(.arrayMove(to: UInt32(truncatingIfNeeded: target), priorSize: size))
        }
        if source == target { move.isDiscarded = true }
    }
}

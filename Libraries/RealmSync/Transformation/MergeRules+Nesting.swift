/// An instruction and one that is deeper.
extension MergeRules {
    static func nest(a: inout MergeNode, inner: inout MergeNode) throws(TransformError) {
        switch a.action {
        case .eraseTable: if a.table == inner.table { inner.isDiscarded = true }
        case .eraseObject: if a.object == inner.object { inner.isDiscarded = true }
        case .addTable, .addColumn, .eraseColumn, .createObject: break
        case .edit(let edit): try nest(&a, edit, inner: &inner)
        }
    }

    private static func nest(_ a: inout MergeNode, _ edit: Edit, inner: inout MergeNode) throws(TransformError) {
        switch edit {
        case .update(let value, _), .updateElement(let value, _):
            guard a.isPrefix(of: inner) else { return }
            let isIndex = inner.path[a.path.count].index != nil
            switch value {
            case .objectValue: break
            case .list where isIndex, .dictionary where !isIndex: break
            default: inner.isDiscarded = true
            }
        case .addInteger, .clear: if a.isPrefix(of: inner) { inner.isDiscarded = true }
        case .arrayInsert:
            guard let index = try index(in: inner, of: a) else { return }
            if index >= a.index { inner.setIndex(index + 1, at: a.path.count - 1) }
        case .arrayErase:
            guard let index = try index(in: inner, of: a) else { return }
            if index == a.index { inner.isDiscarded = true }
            if index > a.index { inner.setIndex(index - 1, at: a.path.count - 1) }
        case .arrayMove(let target, _):
            guard let index = try index(in: inner, of: a) else { return }
            // As in realm-core: what is inside stays, and the source of the move follows it.
            var source = a.index
            if source == index {
                source = Int(target)
            } else {
                if source > index { source -= 1 }
                if source >= Int(target) { source += 1 }
            }
            a.index = source
        case .setInsert, .setErase: break
        }
    }

    /// The index that a deeper path has in the list at whose element the other path ends; nil if it leads elsewhere.
    private static func index(in inner: MergeNode, of a: MergeNode) throws(TransformError) -> Int? {
        guard a.isContainerPrefix(of: inner) else { return nil }
        guard let index = inner.path[a.path.count - 1].index else {
            throw TransformError(.inconsistentPath, "one side takes a value for a list, and the other one doesn't")
        }
        return Int(index)
    }
}

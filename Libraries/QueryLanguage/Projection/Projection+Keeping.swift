import DocumentModel

extension Projection {
    /// Whether the projection of any document keeps everything at a path. The path may contain indexes of arrays.
    public func keeps(_ path: [String]) -> Bool {
        guard let first = path.first else { return children.isEmpty && mode != .inclusion }
        let named = [first] + path.dropFirst().filter { Int($0) == nil }
        return !isPositional(path) && !isPositional(named) && keeps(path[...], by: children)
            && keeps(named[...], by: children)
    }

    /// Whether `field.$` is at the path or above it.
    private func isPositional(_ path: [String]) -> Bool {
        guard let array = positional?.components, array.count <= path.count else { return false }
        return zip(array, path).allSatisfy { $0.name.hasSameBytes(as: $1) }
    }

    private func keeps(_ path: ArraySlice<String>, by children: [ProjectionNode.Child]) -> Bool {
        guard let name = path.first else { return false }
        guard let child = children.first(where: { $0.name.hasSameBytes(as: name) }) else { return mode != .inclusion }
        return switch child.node {
        case .include: true
        case .children(let below): keeps(path.dropFirst(), by: below)
        case .exclude, .computed, .slice, .elementMatch: false
        }
    }
}

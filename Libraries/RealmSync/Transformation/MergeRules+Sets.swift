import DocumentModel

/// Elements of the same set.
extension MergeRules {
    static func mergeSets(_ a: inout MergeNode, _ b: inout MergeNode, _ first: Edit, _ second: Edit) {
        if case .setErase(let value) = first, case .setErase(let other) = second {
            // As in realm-core, which compares places in the changesets' strings here.
            if isSame(value, other) { discardEarlier(&a, &b) }
        } else if isSame(a.comparable, b.comparable) {
            discardEarlier(&a, &b)
        }
    }

    private static func isSame(_ a: Payload, _ b: Payload) -> Bool {
        switch (a, b) {
        case (.int(let a), .int(let b)): a == b
        case (.bool(let a), .bool(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.binary(let a), .binary(let b)): a == b
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.float(let a), .float(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.decimal(let a), .decimal(let b)): Decimal128.compare(a, b) == 0
        case (.link(let a, let key), .link(let b, let other)): a == b && key == other
        case (.objectId(let a), .objectId(let b)): a == b
        case (.uuid(let a), .uuid(let b)): a == b
        default: a.type == b.type
        }
    }
}

/// Values at the same path.
extension MergeRules {
    static func mergeValues(
        _ a: inout MergeNode, _ b: inout MergeNode, _ first: Edit, _ second: Edit
    ) throws(TransformError) {
        switch (first, second) {
        case (.update(let value, let isDefault), .update(let other, let isOtherDefault)):
            mergeUpdates(&a, &b, (value, isDefault), (other, isOtherDefault))
        case (.updateElement(let value, let size), .updateElement(let other, let otherSize)):
            guard size == otherSize else {
                throw TransformError(.inconsistentList, "the sides disagree about the size of a list")
            }
            mergeUpdates(&a, &b, (value, false), (other, false))
        case (.update(let value, let isDefault), .addInteger(let number)):
            guard let sum = sum(value, number, isLater: isDefault || b.isLater(than: a), &b) else { return }
            a.change(.update(.int(sum), isDefault: isDefault))
        case (.updateElement(let value, let size), .addInteger(let number)):
            guard let sum = sum(value, number, isLater: b.isLater(than: a), &b) else { return }
            a.change(.updateElement(.int(sum), priorSize: size))
        case (.update(let value, _), .clear(let collection)), (.updateElement(let value, _), .clear(let collection)):
            switch (value, collection) {
            case (.list, .list), (.dictionary, .dictionary): break
            default: discardEarlier(&a, &b)
            }
        case (.addInteger, .clear): a.isDiscarded = true
        case (.clear, .clear): discardEarlier(&a, &b)
        case (.clear, .setInsert), (.clear, .setErase): b.isDiscarded = true
        default: break
        }
    }

    private static func mergeUpdates(
        _ a: inout MergeNode, _ b: inout MergeNode, _ first: (value: Payload, isDefault: Bool),
        _ second: (value: Payload, isDefault: Bool)
    ) {
        switch (first.value, second.value) {
        case (.list, .list), (.dictionary, .dictionary): return
        case (.objectValue, .objectValue): break
        // An embedded object loses to any other value.
        case (.objectValue, _): a.isDiscarded = true
        case (_, .objectValue): b.isDiscarded = true
        default: break
        }
        guard !a.isDiscarded, !b.isDiscarded else { return }
        if first.isDefault == second.isDefault {
            discardEarlier(&a, &b)
        } else if first.isDefault {
            a.isDiscarded = true
        } else {
            b.isDiscarded = true
        }
    }

    /// The value after an addition, if that changes it.
    /// - Parameter isLater: Whether the addition counts as later than the value.
    private static func sum(_ value: Payload, _ number: Int64, isLater: Bool, _ addition: inout MergeNode) -> Int64? {
        switch value {
        case .int(let value) where isLater: return number == 0 ? nil : value &+ number
        case .null where isLater: return nil
        default:
            addition.isDiscarded = true
            return nil
        }
    }
}

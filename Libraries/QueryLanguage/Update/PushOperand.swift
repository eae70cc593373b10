import DocumentModel

/// The operand of `$push` with its modifiers.
struct PushOperand: Sendable {
    var values: [Value]
    /// The position to insert at; counted from the end if negative.
    var position: Int?
    /// How many elements to keep: the first ones, or the last ones if negative.
    var slice: Int?
    var sort: Sort?

    init(_ value: Value) throws(QueryError) {
        guard case .document(let document) = value, document["$each"] != nil else {
            if case .document(let document) = value, let first = document.fields.first,
                ["$slice", "$sort", "$position"].contains(first.key)
            {
                throw .badValue("The \(first.key) modifier of $push needs $each")
            }
            values = [value]
            return
        }
        values = []
        for field in document.fields {
            switch field.key {
            case "$each":
                guard case .array(let elements) = field.value else {
                    throw .badValue(
                        "The argument to $each in $push must be an array but it was of type: \(field.value.typeName)")
                }
                values = elements
            case "$position":
                guard let position = field.value.intValue else {
                    throw .badValue(
                        "The value for $position must be an integer value, not of type: \(field.value.typeName)")
                }
                self.position = position
            case "$slice":
                guard let slice = field.value.intValue else {
                    throw .badValue(
                        "The value for $slice must be an integer value but was given type: \(field.value.typeName)")
                }
                self.slice = slice
            case "$sort":
                switch field.value {
                case .document(let order): sort = try Sort(order)
                default:
                    guard let direction = field.value.int64Value, direction == 1 || direction == -1 else {
                        throw .badValue("The $sort element value must be either 1 or -1")
                    }
                    sort = Sort(wholeElementAscending: direction == 1)
                }
            default: throw .badValue("Unrecognized clause in $push: \(field.key)")
            }
        }
    }

    /// Whether the new elements are only appended.
    var onlyAppends: Bool { position == nil && slice == nil && sort == nil }

    func apply(to elements: inout [Value]) {
        let count = elements.count
        let place = position.map { $0 < 0 ? max(0, count + max($0, -count)) : min($0, count) } ?? count
        elements.insert(contentsOf: values, at: place)
        if let sort { sort.sort(&elements) }
        guard let slice else { return }
        if slice >= 0 {
            if elements.count > slice { elements.removeLast(elements.count - slice) }
        } else if slice > -elements.count {
            elements.removeFirst(elements.count + slice)
        }
    }
}

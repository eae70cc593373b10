import DocumentModel

/// Walks a dotted path through a document as MongoDB's matcher does.
///
/// Along the path, each element of an array that is a document is walked, and the element whose index is the path's next name. At
/// the end, each element of an array is visited, and then the array itself. A value that is missing in a document is visited as
/// `nil`; elements that aren't documents are skipped.
struct PathVisitor {
    /// Whether the elements of an array at the end are visited too.
    var entersFinalArray = true
    /// Called with each value and its index in the outermost array along the path; returns whether to stop.
    let visit: (Value?, Int?) throws(QueryError) -> Bool

    typealias Components = ArraySlice<Path.Component>

    /// Walks the path; returns whether a visit stopped the walk.
    func walk(_ document: Document, _ path: Components, _ outer: Int? = nil) throws(QueryError) -> Bool {
        guard let first = path.first else { return false }
        guard let index = document.index(of: first.name) else { return try visit(nil, outer) }
        let rest = path.dropFirst()
        return try step(document.fields[index].value, rest, outer)
    }

    private func step(_ value: Value, _ rest: Components, _ outer: Int?) throws(QueryError) -> Bool {
        switch value {
        case .array(let elements):
            return try rest.isEmpty ? finish(value, elements, outer) : search(elements, rest, outer)
        case .document(let document) where !rest.isEmpty: return try walk(document, rest, outer)
        default: return try visit(rest.isEmpty ? value : nil, outer)
        }
    }

    private func finish(_ value: Value, _ elements: [Value], _ outer: Int?) throws(QueryError) -> Bool {
        if entersFinalArray {
            for (index, element) in elements.enumerated() {
                try QueryError.throwIfInterrupted(every: index)
                if try visit(element, outer ?? index) { return true }
            }
        }
        return try visit(value, outer)
    }

    private func search(_ elements: [Value], _ rest: Components, _ outer: Int?) throws(QueryError) -> Bool {
        let place = rest.first?.index
        for (index, element) in elements.enumerated() {
            try QueryError.throwIfInterrupted(every: index)
            let outer = outer ?? index
            if case .document(let document) = element, try walk(document, rest, outer) { return true }
            guard index == place else { continue }
            let below = rest.dropFirst()
            if below.isEmpty {
                if try visit(element, outer) { return true }
            } else if case .document(let document) = element {
                if try walk(document, below, outer) { return true }
            } else if case .array(let nested) = element, try search(nested, below, outer) {
                return true
            }
        }
        return false
    }
}

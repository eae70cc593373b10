import DocumentModel

/// An element that can be found by its name.
protocol Named {
    var name: String { get }
}

extension ProjectionNode.Child: Named {}

extension Document.Field: Named {
    var name: String { key }
}

/// Finds elements such as fields by name: by a linear search, or by a dictionary if there are many searches in many elements.
struct NamedPlaces<Element: Named> {
    private let elements: [Element]
    private var places: [ExactText: Int]?

    /// - Parameters:
    ///   - elements: their names are unique.
    ///   - searches: the expected number of searches.
    init(_ elements: [Element], searches: Int) {
        self.elements = elements
        guard elements.count &* searches > 4096 else { return }
        places = Dictionary(
            elements.enumerated().map { (ExactText($0.element.name), $0.offset) },
            uniquingKeysWith: { first, _ in first })
    }

    func index(of name: String) -> Int? {
        guard let places else { return elements.firstIndex { $0.name.hasSameBytes(as: name) } }
        return places[ExactText(name)]
    }
}

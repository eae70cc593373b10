/// What came first is taken first; taking it costs the same, however much waits. Pure.
package struct FIFO<Element> {
    private var elements: [Element] = []
    private var head = 0

    package init() {}

    package var isEmpty: Bool { head == elements.count }

    /// From the one that came first.
    package var waiting: ArraySlice<Element> { elements[head...] }

    package mutating func append(_ element: Element) { elements.append(element) }

    /// Takes the first one out; there must be one.
    package mutating func removeFirst() -> Element {
        let first = elements[head]
        head += 1
        if isEmpty {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Takes one of `waiting` out, by its index there.
    package mutating func remove(at index: Int) -> Element { elements.remove(at: index) }
}

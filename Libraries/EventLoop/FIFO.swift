/// A first-in, first-out queue whose removals take amortized constant time. Pure.
package struct FIFO<Element> {
    private var elements: [Element] = []
    private var head = 0

    package init() {}

    package var isEmpty: Bool { head == elements.count }

    /// The elements, oldest first.
    package var waiting: ArraySlice<Element> { elements[head...] }

    package mutating func append(_ element: Element) { elements.append(element) }

    /// Removes and returns the first element. The queue must not be empty.
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

    /// Removes and returns an element of `waiting`, by its index there.
    package mutating func remove(at index: Int) -> Element { elements.remove(at: index) }
}

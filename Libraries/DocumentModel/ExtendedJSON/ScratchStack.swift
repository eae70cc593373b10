/// Memory for the parts of documents and arrays that a parser hasn't finished. At the end an array of exactly the right size is
/// made of them; a growing array would allocate and move repeatedly.
struct ScratchStack<Element>: ~Copyable {
    private var memory: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        memory = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit {
        memory.deinitialize(count: count)
        memory.deallocate()
    }

    @inline(__always)
    mutating func push(_ element: consuming Element) {
        if count == capacity { grow() }
        (memory + count).initialize(to: element)
        count &+= 1
    }

    @inline(never)
    private mutating func grow() {
        let moved = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        moved.moveInitialize(from: memory, count: count)
        memory.deallocate()
        memory = moved
        capacity *= 2
    }

    /// The elements from a place on, which is not beyond `count`.
    func view(from start: Int) -> UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(start: memory + start, count: count - start)
    }

    /// Removes and returns the elements from a place on.
    @inline(__always)
    mutating func pop(from start: Int) -> [Element] {
        let size = count &- start
        if size == 0 { return [] }
        let source = memory + start
        count = start
        return [Element](unsafeUninitializedCapacity: size) { output, count in
            if let base = output.baseAddress { base.moveInitialize(from: source, count: size) }
            count = size
        }
    }
}

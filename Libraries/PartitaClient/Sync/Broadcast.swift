/// Streams of one source. Each buffers a bounded number of the newest elements for a slow reader.
struct Broadcast<Element: Sendable>: Sendable {
    private var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    private var next = 0
    private var isFinished = false
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - first: The stream's first element.
    ///   - forget: Called with the stream's number when its reader has ended.
    mutating func stream(
        first: Element? = nil, forget: @escaping @Sendable (Int) -> Void
    ) -> AsyncStream<Element> {
        let number = next
        next += 1
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(limit))
        if let first { continuation.yield(first) }
        guard !isFinished else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { _ in forget(number) }
        continuations[number] = continuation
        return stream
    }

    mutating func remove(_ number: Int) { continuations[number] = nil }

    func send(_ element: Element) {
        for continuation in continuations.values { continuation.yield(element) }
    }

    /// Ends all streams, and those that are added later.
    mutating func finish() {
        isFinished = true
        for continuation in continuations.values { continuation.finish() }
        continuations = [:]
    }
}

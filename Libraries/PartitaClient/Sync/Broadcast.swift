import Foundation

/// The id of a stream of a ``Broadcast``.
typealias StreamID = UUID

/// Streams of one source. Each buffers a bounded number of the newest elements for a slow reader.
struct Broadcast<Element: Sendable>: Sendable {
    private struct Stream {
        let continuation: AsyncStream<Element>.Continuation
        /// Whether the stream gets an element; `nil`: it gets all.
        let accepts: (@Sendable (Element) -> Bool)?
    }

    /// By ids that no other broadcast has: the end of a reader is told later, when another broadcast may have taken the place of this one.
    private var streams: [StreamID: Stream] = [:]
    private var isFinished = false
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - first: The stream's first element.
    ///   - accepts: Whether the stream gets an element; `nil`: it gets all.
    ///   - forget: Called with the stream's id when its reader has ended.
    mutating func stream(
        first: Element? = nil, where accepts: (@Sendable (Element) -> Bool)? = nil,
        forget: @escaping @Sendable (StreamID) -> Void
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(limit))
        if let first { continuation.yield(first) }
        guard !isFinished else {
            continuation.finish()
            return stream
        }
        let id = StreamID()
        continuation.onTermination = { _ in forget(id) }
        streams[id] = Stream(continuation: continuation, accepts: accepts)
        return stream
    }

    mutating func remove(_ id: StreamID) { streams[id] = nil }

    func send(_ element: Element) {
        for stream in streams.values where stream.accepts?(element) ?? true { stream.continuation.yield(element) }
    }

    /// Ends all streams, and those that are added later.
    mutating func finish() {
        isFinished = true
        for stream in streams.values { stream.continuation.finish() }
        streams = [:]
    }
}

import EventStream

/// A feed that knows from where on it misses nothing.
protocol PositionedFeed: Sendable {
    func waitUntilPositioned() async throws
}

extension EventTail: PositionedFeed {}

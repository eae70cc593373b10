import EventStream

/// A feed that delivers everything from a known position on.
protocol PositionedFeed: Sendable {
    func waitUntilPositioned() async throws
}

extension EventTail: PositionedFeed {}

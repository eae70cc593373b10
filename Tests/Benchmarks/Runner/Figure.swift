/// A number that a benchmark yields: what it is called, what it is measured in, and what the project wants it to be.
public struct Figure: Sendable, Hashable {
    /// What is measured in a unit, and which way is better.
    public struct Unit: Sendable, Hashable {
        public let symbol: String
        public let isBetterWhenLarger: Bool

        /// Operations per second.
        public static let perSecond = Unit(symbol: "1/s", isBetterWhenLarger: true)
        /// Megabytes (10^6) per second.
        public static let megabytesPerSecond = Unit(symbol: "MB/s", isBetterWhenLarger: true)
        public static let milliseconds = Unit(symbol: "ms", isBetterWhenLarger: false)
        public static let nanoseconds = Unit(symbol: "ns", isBetterWhenLarger: false)
        public static let bytes = Unit(symbol: "bytes", isBetterWhenLarger: false)
    }

    /// What counts as good enough.
    public enum Goal: Sendable, Hashable {
        case ratio(atLeast: Double)
        case value(atMost: Double)
        /// Only to be watched.
        case none
    }

    /// `<library or part>.<what>`, in small letters.
    public let name: String
    public let unit: Unit
    public let goal: Goal

    public init(_ name: String, _ unit: Unit, goal: Goal = .none) {
        self.name = name
        self.unit = unit
        self.goal = goal
    }
}

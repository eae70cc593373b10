/// Which call a host's thread works for at this moment, and which have begun, in memory that the host shares with its parent. A host that
/// is in the middle of a step of a script can't send anything, and one that crashed can't any more.
///
/// The parent mustn't trust it: a script that broke out of the engine can write anything there.
public struct HostActivity: @unchecked Sendable {
    // Unchecked: aligned words and bytes, each written by one process and read whole by the other. A step's number tells whether it
    // changed meanwhile.
    private let words: UnsafeMutablePointer<Int64>
    private let begun: UnsafeMutablePointer<UInt8>

    /// The most calls that a host may have in flight.
    public static let maximumCalls = 1024
    public static let bytes = 4096

    /// - Parameter memory: `bytes`, all zero at first, which outlive this value.
    public init(_ memory: UnsafeMutableRawPointer) {
        words = memory.bindMemory(to: Int64.self, capacity: 2)
        begun = (memory + 16).bindMemory(to: UInt8.self, capacity: Self.maximumCalls)
    }

    /// A step of a call.
    public struct Step: Equatable, Sendable {
        public let call: Int64
        /// Counts the steps of the host.
        public let number: Int64
    }

    /// The step that the host is in the middle of; `nil` between two steps.
    public var step: Step? {
        let step = Step(call: words[0], number: words[1])
        return step.call == 0 ? nil : step
    }

    /// Whether a call has begun. Ids count up, so that of those in flight no two have the same place.
    public func hasBegun(call: Int64) -> Bool { begun[Self.place(of: call)] != 0 }

    /// For the parent, before it sends a call.
    public func prepare(call: Int64) { begun[Self.place(of: call)] = 0 }

    private static func place(of call: Int64) -> Int {
        Int(truncatingIfNeeded: UInt64(bitPattern: call) % UInt64(maximumCalls))
    }

    public func begin(call: Int64) {
        begun[Self.place(of: call)] = 1
        words[1] &+= 1
        words[0] = call
    }

    public func end() { words[0] = 0 }
}

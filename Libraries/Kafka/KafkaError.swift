/// What went wrong between this process and the broker.
public struct KafkaError: Error, Hashable, Sendable {
    /// The kind of error; a new kind breaks nobody's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case configuration, closed, unreachable, timedOut, unknownTopic, partitionCount, messageTooLarge,
                unauthorized, producerFailed, assignmentLost, broker
        }

        private let base: Base

        /// A setting that the client refuses, or a value out of its range.
        public static let configuration = Code(base: .configuration)
        /// The client has been closed.
        public static let closed = Code(base: .closed)
        /// No broker answers.
        public static let unreachable = Code(base: .unreachable)
        /// The deadline is over; for a message: it was not acknowledged within the delivery timeout, and may have arrived.
        public static let timedOut = Code(base: .timedOut)
        /// The topic or partition does not exist (yet).
        public static let unknownTopic = Code(base: .unknownTopic)
        /// The topic exists with another number of partitions than wanted.
        public static let partitionCount = Code(base: .partitionCount)
        /// The message is larger than the client's or the topic's limit.
        public static let messageTooLarge = Code(base: .messageTooLarge)
        /// The broker knows who this is and refuses, or does not know.
        public static let unauthorized = Code(base: .unauthorized)
        /// The producer lost its guarantees and was rebuilt; what was on its way may or may not have arrived. Send it again.
        public static let producerFailed = Code(base: .producerFailed)
        /// The partitions belong to another member of the group by now.
        public static let assignmentLost = Code(base: .assignmentLost)
        /// Anything else that a broker or the client library reports.
        public static let broker = Code(base: .broker)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// One sentence for an operator; never holds message contents.
    public let message: String
    /// librdkafka's number for the error (negative: the client's own, positive: a broker's); 0 where neither reported it.
    public let nativeCode: Int32
    /// The same call may succeed later without anything being changed.
    public let isRetriable: Bool
    /// The client can't go on; a producer rebuilds itself, a consumer has to be made anew.
    public let isFatal: Bool
    /// Where it was thrown.
    public let file: String
    /// The line in `file`.
    public let line: UInt

    /// An error that no broker reported.
    public init(
        _ code: Code, _ message: String, nativeCode: Int32 = 0, isRetriable: Bool = false, isFatal: Bool = false,
        file: String = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.nativeCode = nativeCode
        self.isRetriable = isRetriable
        self.isFatal = isFatal
        self.file = file
        self.line = line
    }
}

extension KafkaError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "\(code): \(message)" }
    public var debugDescription: String {
        "\(code): \(message) (native \(nativeCode), retriable \(isRetriable), fatal \(isFatal), \(file):\(line))"
    }
}

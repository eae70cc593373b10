/// An error of the Kafka client or of a broker.
public struct KafkaError: Error, Hashable, Sendable {
    /// The kind of error; not an enumeration, so that new kinds don't break a caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case configuration, closed, unreachable, timedOut, unknownTopic, partitionCount, messageTooLarge,
                unauthorized, producerFailed, assignmentLost, broker
        }

        private let base: Base

        /// The client refuses a setting, or a value is out of range.
        public static let configuration = Code(base: .configuration)
        /// The client has been closed.
        public static let closed = Code(base: .closed)
        /// No broker answers.
        public static let unreachable = Code(base: .unreachable)
        /// The deadline has passed. For a message: it was not acknowledged within the delivery timeout, but may have arrived.
        public static let timedOut = Code(base: .timedOut)
        /// The topic or partition does not exist (yet).
        public static let unknownTopic = Code(base: .unknownTopic)
        /// The topic exists with a different number of partitions.
        public static let partitionCount = Code(base: .partitionCount)
        /// The message is larger than the client's or the topic's limit.
        public static let messageTooLarge = Code(base: .messageTooLarge)
        /// The client isn't authenticated, or isn't authorized for the operation.
        public static let unauthorized = Code(base: .unauthorized)
        /// The producer lost its guarantees and was rebuilt; messages in flight may or may not have arrived. Send them again.
        public static let producerFailed = Code(base: .producerFailed)
        /// The partitions belong to another member of the group by now.
        public static let assignmentLost = Code(base: .assignmentLost)
        /// Anything else that a broker or the client library reports.
        public static let broker = Code(base: .broker)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// The error in one sentence for an operator; never contains message contents.
    public let message: String
    /// librdkafka's number for the error (negative: the client's own, positive: a broker's); 0 where neither reported it.
    public let nativeCode: Int32
    /// Whether the same call may succeed later without changes.
    public let isRetriable: Bool
    /// Whether the client can't continue. A producer rebuilds itself; a consumer has to be replaced.
    public let isFatal: Bool
    /// The file where it was created.
    public let file: String
    /// The line in `file`.
    public let line: UInt

    /// Creates an error, by default one that librdkafka didn't report.
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

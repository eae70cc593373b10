private import Crdkafka
import Dispatch
import EventLoop
import Logging

/// Owns one `rd_kafka_t`, and the objects that its callbacks need.
///
/// `@unchecked Sendable`: librdkafka documents its handles as safe to use from any thread; the rest is immutable or locked.
final class RDKafkaHandle: @unchecked Sendable {
    enum Kind { case producer, consumer }

    let pointer: OpaquePointer
    private let log: LogSink
    private let isDestroyed = Locked(false)

    /// - Throws: `.configuration` that names the property when one is unknown or out of range.
    init(_ kind: Kind, settings: [String: String], events: Int32, logger: Logger) throws(KafkaError) {
        guard let configuration = rd_kafka_conf_new() else { throw KafkaError(.configuration, "out of memory") }
        var text = [CChar](repeating: 0, count: 512)
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
            guard rd_kafka_conf_set(configuration, name, value, &text, text.count) == RD_KAFKA_CONF_OK else {
                rd_kafka_conf_destroy(configuration)
                throw KafkaError(.configuration, "\(name): \(cString(text))", nativeCode: -186)
            }
        }
        let log = LogSink(logger)
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(log).toOpaque())
        rd_kafka_conf_set_log_cb(configuration) { handle, level, facility, line in
            guard let handle, let opaque = rd_kafka_opaque(handle), let line else { return }
            Unmanaged<LogSink>.fromOpaque(opaque).takeUnretainedValue()
                .write(level: level, facility: facility.map { String(cString: $0) } ?? "", String(cString: line))
        }
        rd_kafka_conf_set_events(configuration, events)
        let type = kind == .producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER
        guard let pointer = rd_kafka_new(type, configuration, &text, text.count) else {
            rd_kafka_conf_destroy(configuration)  // rd_kafka_new takes it over only when it succeeds
            throw KafkaError(.configuration, cString(text), nativeCode: -186)
        }
        self.pointer = pointer
        self.log = log
    }

    /// Ends the handle and all of its threads. Blocks until they have ended; the handle must not be used afterwards.
    func destroy() {
        guard
            isDestroyed.withLock({ destroyed in
                defer { destroyed = true }; return !destroyed
            })
        else { return }
        rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }

    /// The last warning or error that librdkafka logged, which may explain why no broker answers.
    var cause: String? { log.cause }

    /// `destroy`, on a thread that may block.
    func destroyAside() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async {
                self.destroy()
                continuation.resume()
            }
        }
    }

    deinit {
        guard !isDestroyed.withLock({ $0 }) else { return }
        // Released without close(): the releasing thread must not wait for librdkafka's threads.
        let remains = Remains(pointer: pointer, log: log)
        DispatchQueue.global().async { remains.destroy() }
    }

    /// The parts of a released handle. `@unchecked`: only one closure uses it.
    private struct Remains: @unchecked Sendable {
        let pointer: OpaquePointer
        let log: LogSink
        func destroy() {
            withExtendedLifetime(log) { rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) }
        }
    }
}

/// Receives librdkafka's log lines on its threads.
private final class LogSink: Sendable {
    private let logger: Logger
    private let lastError = Locked<String?>(nil)

    init(_ logger: Logger) { self.logger = logger }

    /// The last warning or error that librdkafka logged.
    var cause: String? { lastError.withLock { $0 } }

    /// - Parameter level: a syslog level. Lines of level "error" describe conditions that librdkafka handles by itself; others
    ///   reach the caller as errors.
    func write(level: Int32, facility: String, _ line: String) {
        let level: Logger.Level =
            switch level {
            case ...2: .error
            case 3, 4: .warning
            case 5, 6: .debug
            default: .trace
            }
        if level >= .warning { lastError.withLock { $0 = line } }
        logger.log(level: level, "librdkafka", metadata: ["kafka.facility": "\(facility)", "kafka.line": "\(line)"])
    }
}

/// The text of a buffer with a null-terminated C string.
func cString(_ buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

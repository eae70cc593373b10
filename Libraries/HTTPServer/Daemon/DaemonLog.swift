import Cmicrohttpd
import Logging

/// Logs libmicrohttpd's own messages (a client that disconnects, a full connection table) as debug lines. Must outlive its daemon.
final class DaemonLog {
    let pointer: UnsafeMutablePointer<cmhd_log>
    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
        pointer = .allocate(capacity: 1)
        pointer.initialize(
            to: cmhd_log(
                write: { me, message in
                    guard let me, let message else { return }
                    Unmanaged<DaemonLog>.fromOpaque(me).takeUnretainedValue().write(String(cString: message))
                }, context: nil))
        pointer.pointee.context = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { pointer.deallocate() }

    private func write(_ message: String) {
        let line = message.last?.isNewline == true ? String(message.dropLast()) : message
        logger.debug("libmicrohttpd", metadata: ["detail": "\(line)"])
    }
}

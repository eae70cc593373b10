private import Chiredis
import EventLoop
import TLS

/// A hiredis context on a loop: hiredis requests reads and writes of the socket, and the loop reports when they are possible. Used
/// only on the loop.
///
/// Everything that is written in one turn of the loop is sent with one `write` at its end. hiredis frees its context by itself when
/// the connection fails, in the middle of a read or a write; `cleanup` is its last callback.
final class HiredisLink: TickFlushable {
    /// The number of answers that are awaited.
    private(set) var unanswered = 0
    /// When the last answer arrived, or the first of the unanswered commands was sent, in the loop's milliseconds.
    private(set) var quietSince: UInt64 = 0

    private let loop: EventLoop
    private var context: UnsafeMutablePointer<redisAsyncContext>?
    private var watcher: FDWatcher?
    private let secured: (trust: TLSContext, host: String)?
    private var tunnel: TLSTunnel?
    private var isConnected = false
    private var isDirty = false
    private var isWriting = false
    private var wantsWrite = false
    private let onConnected: (RedisError?) -> Void
    private let onReplica: (RedisError) -> Void
    private let onClosed: () -> Void

    /// A context that has begun to connect; passed once, from the thread that created it to the loop.
    struct Started: @unchecked Sendable {
        fileprivate let context: UnsafeMutablePointer<redisAsyncContext>?
        fileprivate let secured: (trust: TLSContext, host: String)?
    }

    /// Begins to connect, on a thread that is allowed to block, since names are resolved here.
    static func start(_ configuration: RedisConfiguration) async throws(RedisError) -> Started {
        let secured = try await configuration.secured
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Started, Never>) in
            BlockingWork.run {
                let context =
                    if let path = configuration.path {
                        redisAsyncConnectUnix(path)
                    } else {
                        redisAsyncConnect(configuration.host, Int32(configuration.port))
                    }
                continuation.resume(returning: Started(context: context, secured: secured))
            }
        }
    }

    static func discard(_ started: Started) {
        if let context = started.context { redisAsyncFree(context) }
    }

    /// - Parameters:
    ///   - onConnected: called once, unless `init` throws.
    ///   - onReplica: called when a command is answered by an error that shows that the server is a replica.
    ///   - onClosed: called when the context has been freed, for any reason.
    init(
        _ started: Started, on loop: EventLoop, onConnected: @escaping (RedisError?) -> Void,
        onReplica: @escaping (RedisError) -> Void, onClosed: @escaping () -> Void
    ) throws {
        guard let context = started.context else { throw RedisError(.connectionFailed, "out of memory") }
        self.loop = loop
        secured = started.secured
        self.onConnected = onConnected
        self.onReplica = onReplica
        self.onClosed = onClosed
        if context.pointee.err != 0 {
            let error = Self.error(.connectionFailed, context)
            redisAsyncFree(context)
            throw error
        }
        // A Unix socket has no such option, and hiredis would take that for a broken connection.
        if context.pointee.c.connection_type == REDIS_CONN_TCP { redisEnableKeepAlive(&context.pointee.c) }
        do {
            try watch(context.pointee.c.fd)
        } catch {
            redisAsyncFree(context)
            throw error
        }
        self.context = context
        context.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        context.pointee.ev.data = Unmanaged.passRetained(self).toOpaque()  // until `cleanup`
        context.pointee.ev.addRead = { _ in }  // reading is always wanted
        context.pointee.ev.delRead = { _ in }
        context.pointee.ev.addWrite = { HiredisLink.of($0)?.addWrite() }
        context.pointee.ev.delWrite = { _ in }
        context.pointee.ev.cleanup = { pointer in
            guard let pointer else { return }
            Unmanaged<HiredisLink>.fromOpaque(pointer).takeRetainedValue().cleanUp()
        }
        redisAsyncSetConnectCallback(context) { context, status in
            guard let context, let link = HiredisLink.of(context.pointee.data) else { return }
            link.isConnected = status == REDIS_OK
            if status == REDIS_OK, let secured = link.secured {
                link.secure(secured.trust, host: secured.host)
            } else {
                link.onConnected(status == REDIS_OK ? nil : HiredisLink.error(.connectionFailed, context))
            }
        }
    }

    private func watch(_ descriptor: Int32) throws {
        let watcher = try FDWatcher(loop, fd: descriptor) { [unowned self] in isReady($0) }
        self.watcher = watcher
        watcher.set([.read, .write])
    }

    /// Replaces the connected socket by the end of a tunnel, since the oldest version of hiredis in use doesn't support TLS.
    private func secure(_ trust: TLSContext, host: String) {
        guard let context else { return }
        watcher?.close()
        watcher = nil
        do {
            let tunnel = try TLSTunnel(loop, over: context.pointee.c.fd, trust, host: host, onReady: onConnected)
            self.tunnel = tunnel
            context.pointee.c.fd = tunnel.end
            try watch(tunnel.end)
        } catch {
            onConnected(error as? RedisError ?? RedisError(.connectionFailed, "\(error)"))
        }
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> HiredisLink? {
        pointer.map { Unmanaged<HiredisLink>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func error(_ code: RedisError.Code, _ context: UnsafePointer<redisAsyncContext>) -> RedisError {
        RedisError(code, context.pointee.errstr.map { String(cString: $0) } ?? "unknown")
    }

    /// Closes the connection; awaited answers are reported as lost.
    func close() {
        guard let context else { return }
        self.context = nil
        redisAsyncFree(context)
    }

    // MARK: Commands

    /// Sends a command; `pending` gets its answer, or `nil` if there will be none. Returns `false` if it wasn't sent.
    ///
    /// - Parameter wire: The command and a NUL byte, which isn't sent: hiredis searches commands as C strings, beyond their length.
    func send(_ wire: [UInt8], to pending: PendingReply) -> Bool {
        guard let context else { return false }
        let box = Unmanaged.passRetained(pending)
        let status = wire.withUnsafeBytes { bytes in
            redisAsyncFormattedCommand(
                context,
                { context, reply, box in
                    guard let box else { return }
                    let pending = Unmanaged<PendingReply>.fromOpaque(box).takeRetainedValue()
                    let value = reply.map { HiredisLink.value($0.assumingMemoryBound(to: redisReply.self)) }
                    pending.take(value)
                    if let context, let value { HiredisLink.of(context.pointee.data)?.answered(value) }
                }, box.toOpaque(), bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count - 1)
        }
        guard status == REDIS_OK else {
            box.release()
            return false
        }
        if unanswered == 0 { quietSince = loop.now }
        unanswered += 1
        return true
    }

    private func answered(_ value: RedisValue) {
        unanswered -= 1
        quietSince = loop.now
        if case .error(let error) = value, error.isFromReplica { onReplica(error) }
    }

    private static func value(_ reply: UnsafePointer<redisReply>) -> RedisValue {
        let reply = reply.pointee
        let bytes = UnsafeRawBufferPointer(start: reply.str, count: reply.str == nil ? 0 : reply.len)
        return switch reply.type {
        case REDIS_REPLY_INTEGER: .integer(reply.integer)
        case REDIS_REPLY_NIL: .null
        case REDIS_REPLY_STATUS: .status(String(decoding: bytes, as: UTF8.self))
        case REDIS_REPLY_ERROR: .error(RedisError(.server, String(decoding: bytes, as: UTF8.self)))
        case REDIS_REPLY_ARRAY: .array((0..<reply.elements).map { reply.element[$0].map { value($0) } ?? .null })
        default: .bytes(Array(bytes))
        }
    }

    // MARK: The socket

    private func isReady(_ interest: FDWatcher.Interest) {
        // Either call may free the context, and release this.
        withExtendedLifetime(self) {
            if interest.contains(.read), let context { redisAsyncHandleRead(context) }
            if interest.contains(.write) { write() }
        }
    }

    private func addWrite() {
        if isWriting || !isConnected {
            wantsWrite = true
            if !isConnected { watcher?.set([.read, .write]) }
        } else if !isDirty {
            isDirty = true
            loop.markDirty(self)
        }
    }

    func flushTick() {
        isDirty = false
        write()
    }

    private func write() {
        guard let context, watcher != nil else { return }
        isWriting = true
        wantsWrite = false
        redisAsyncHandleWrite(context)
        isWriting = false
        watcher?.set(wantsWrite ? [.read, .write] : .read)
    }

    /// Called before hiredis closes the descriptor.
    private func cleanUp() {
        watcher?.close()
        watcher = nil
        tunnel?.close()
        tunnel = nil
        context = nil
        onClosed()
    }
}

extension RedisConfiguration {
    /// The trust and the host name for TLS; `nil` if TLS isn't used. Reads the files that the URL names.
    fileprivate var secured: (trust: TLSContext, host: String)? {
        get async throws(RedisError) {
            guard let trust else { return nil }
            do {
                return (try await TLSContext.of(trust), host)
            } catch {
                throw RedisError(.connectionFailed, (error as? TLSError)?.message ?? "\(error)")
            }
        }
    }
}

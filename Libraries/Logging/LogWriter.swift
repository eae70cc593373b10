import Glibc

/// A bounded buffer of bytes and the thread that writes them. It writes a few milliseconds after the first line, so that all lines
/// of this time together cost one thread switch and one system call.
///
/// `@unchecked Sendable`: everything mutable is guarded by `mutex`.
final class LogWriter: @unchecked Sendable {
    /// How long a line waits for further lines.
    private static let delay: Duration = .milliseconds(5)
    /// The number of buffered bytes that are written without waiting.
    private static let urgentSize = 64 << 10

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Signalled when there are lines to write, and when they should be written immediately.
    private let filled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Signalled when a batch has been written.
    private let emptied = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let descriptor: Int32
    private let capacity: Int
    private let droppedLine: @Sendable (Int) -> [UInt8]

    private var buffer: [UInt8] = []
    private var lines = 0
    private var isUrgent = false
    private var writing = false
    private var droppedTotal = 0
    private var droppedUnreported = 0
    private var started = false

    /// - Parameter droppedLine: Makes the line with the number of dropped lines.
    init(descriptor: Int32, capacity: Int, droppedLine: @escaping @Sendable (Int) -> [UInt8]) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.droppedLine = droppedLine
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(filled, &attributes)
        pthread_cond_init(emptied, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    // Runs only for a writer that never wrote: the thread, once started, keeps it alive until the end of the process.
    deinit {
        pthread_cond_destroy(filled)
        pthread_cond_destroy(emptied)
        pthread_mutex_destroy(mutex)
        filled.deallocate()
        emptied.deallocate()
        mutex.deallocate()
    }

    var dropped: Int {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return droppedTotal
    }

    func append(_ line: [UInt8]) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard buffer.count + line.count <= capacity else {
            droppedTotal += 1
            droppedUnreported += 1
            return
        }
        startThread()
        let wasEmpty = buffer.isEmpty
        if droppedUnreported > 0 {
            buffer.append(contentsOf: droppedLine(droppedUnreported))
            lines += 1
            droppedUnreported = 0
        }
        buffer.append(contentsOf: line)
        lines += 1
        if wasEmpty || !isUrgent && buffer.count >= Self.urgentSize {
            isUrgent = buffer.count >= Self.urgentSize
            pthread_cond_signal(filled)
        }
    }

    func flush(within limit: Duration) -> Bool {
        var end = Self.time(after: limit)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !buffer.isEmpty || writing {
            isUrgent = true
            pthread_cond_signal(filled)
            if pthread_cond_timedwait(emptied, mutex, &end) == ETIMEDOUT { return buffer.isEmpty && !writing }
        }
        return true
    }

    private static func time(after duration: Duration) -> timespec {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let nanoseconds = Int(duration / .nanoseconds(1)) + time.tv_nsec
        return timespec(tv_sec: time.tv_sec + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    }

    /// Must be called with the mutex locked. The thread starts with the first line, so that an unused handler has no thread.
    private func startThread() {
        if started { return }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<LogWriter>.fromOpaque(context).takeUnretainedValue().writeForever() }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            return
        }
        pthread_detach(thread)
        started = true
        FlushAtExit.add(self)
    }

    private func writeForever() {
        var batch: [UInt8] = []
        while true {
            pthread_mutex_lock(mutex)
            while buffer.isEmpty { pthread_cond_wait(filled, mutex) }
            var end = Self.time(after: Self.delay)
            while !isUrgent, pthread_cond_timedwait(filled, mutex, &end) != ETIMEDOUT {}
            isUrgent = false
            swap(&batch, &buffer)
            let count = lines
            lines = 0
            writing = true
            pthread_mutex_unlock(mutex)

            let complete = write(batch)
            batch.removeAll(keepingCapacity: batch.capacity <= 1 << 20)

            pthread_mutex_lock(mutex)
            writing = false
            if !complete { droppedTotal += count }
            pthread_cond_broadcast(emptied)
            pthread_mutex_unlock(mutex)
        }
    }

    /// - Returns: Whether everything was written. Bytes that the descriptor refuses permanently (EPIPE, ENOSPC) are dropped.
    private func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { all in
            var rest = all[...]
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if written < 0, errno == EAGAIN {
                    // The pipe is non-blocking: wait for space, since this thread has no other work.
                    var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&poller, 1, 1000)
                } else if written < 0, errno == EINTR {
                    continue
                } else {
                    return false
                }
            }
            return true
        }
    }
}

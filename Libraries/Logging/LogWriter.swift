import Glibc

/// A bounded buffer of bytes and the thread that writes it out.
///
/// `@unchecked Sendable`: everything mutable is guarded by `mutex`.
final class LogWriter: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Signalled when there is something to write, and when everything is written.
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let descriptor: Int32
    private let capacity: Int
    private let droppedLine: @Sendable (Int) -> [UInt8]

    private var buffer: [UInt8] = []
    private var lines = 0
    private var writing = false
    private var droppedTotal = 0
    private var droppedUnreported = 0
    private var started = false

    /// - Parameter droppedLine: Makes the line that says how many lines were dropped.
    init(descriptor: Int32, capacity: Int, droppedLine: @escaping @Sendable (Int) -> [UInt8]) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.droppedLine = droppedLine
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    // Only of a writer that never wrote: once started, the thread keeps it for the life of the process.
    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
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
        if wasEmpty { pthread_cond_broadcast(changed) }
    }

    func flush(within limit: Duration) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = Int(limit / .nanoseconds(1)) + end.tv_nsec
        end.tv_sec += nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !buffer.isEmpty || writing {
            if pthread_cond_timedwait(changed, mutex, &end) == ETIMEDOUT { return buffer.isEmpty && !writing }
        }
        return true
    }

    /// With the mutex held. The thread starts with the first line, so that a handler that is never used costs none.
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
            while buffer.isEmpty { pthread_cond_wait(changed, mutex) }
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
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
    }

    /// - Returns: Whether everything was written; what the descriptor refuses for good (EPIPE, ENOSPC) is given up.
    private func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { all in
            var rest = all[...]
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if written < 0, errno == EAGAIN {
                    // A pipe that somebody made non-blocking: wait for room, this thread has nothing else to do.
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

import Glibc

/// A value behind a lock.
///
/// Over `pthread_mutex`: ThreadSanitizer doesn't understand `Synchronization.Mutex` and reports races that aren't.
///
/// `@unchecked Sendable`: the value is reachable only through `withLock`. Don't let references to what isn't Sendable
/// out of it.
public final class Locked<Value>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline var value: Value

    /// Puts a value behind a lock.
    public init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls the body with the value while no other thread has it. Not reentrant; the body must not wait for anything.
    @inlinable
    public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}

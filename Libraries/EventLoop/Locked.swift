import Glibc

/// A value that is protected by a lock.
///
/// It uses `pthread_mutex`, because ThreadSanitizer doesn't understand `Synchronization.Mutex` and reports false races.
///
/// `@unchecked Sendable`: the value is accessible only through `withLock`. Don't return references to non-Sendable objects from it.
public final class Locked<Value>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline var value: Value

    /// Protects a value with a lock.
    public init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls the body with exclusive access to the value. Not reentrant; the body must not block.
    @inlinable
    public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}

import Glibc

/// Runs blocking calls of C libraries (resolving names, `PQcancel`), each on a thread of its own. They are rare, and neither a loop
/// nor the few threads of Swift and Dispatch may wait for a name server.
package enum BlockingWork {
    package static func run(_ work: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Box(work))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { pointer in
                if let pointer { Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().work() }
                return nil
            }, box.toOpaque())
        // No thread could be started, so the caller does the work, although it blocks.
        if result != 0 { box.takeRetainedValue().work() }
    }

    private final class Box: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
}

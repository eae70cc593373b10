import Cuv
import Glibc

/// A detached thread that runs one function to its end.
enum LoopThread {
    private final class Start {
        let name: String
        let began: () -> Void
        let body: () -> Void
        let ready: UnsafeMutablePointer<sem_t>

        init(name: String, began: @escaping () -> Void, body: @escaping () -> Void, ready: UnsafeMutablePointer<sem_t>)
        {
            self.name = name
            self.began = began
            self.body = body
            self.ready = ready
        }
    }

    /// Starts the thread, and returns when `began` has run on it.
    /// - Parameters:
    ///   - name: The thread's name in the kernel, cut after 15 bytes.
    ///   - stackSize: The stack size in bytes, or `nil` for the system's default.
    static func start(
        name: String, stackSize: Int? = nil, began: @escaping () -> Void, body: @escaping () -> Void
    ) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }

        let ready = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(ready, 0, 0)
        defer {
            sem_destroy(ready)
            ready.deallocate()
        }
        let start = Start(name: name, began: began, body: body, ready: ready)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                cuv_thread_name(String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
                start.began()
                sem_post(start.ready)
                start.body()
                return nil
            }, Unmanaged.passRetained(start).toOpaque())
        precondition(status == 0, "can't start a thread: \(String(cString: strerror(status)))")
        while sem_wait(ready) != 0 {}  // EINTR
    }
}

import Dispatch
import Glibc

/// The thread that starts a child and waits for its end.
///
/// One thread does both, because the kernel sends the death signal when the *thread* that started the child ends, and a thread of a
/// pool ends whenever it has been idle. It costs a few kilobytes, needs no SIGCHLD handler, and misses no exit.
// Unchecked: written by the thread before `started` is signaled, and read after that.
final class ParentThread: @unchecked Sendable {
    private let launch: Launch
    private let started = DispatchSemaphore(value: 0)
    private var result: Result<ChildProcess, ChildProcessError>

    private init(_ launch: Launch) {
        self.launch = launch
        result = .failure(ChildProcessError(executable: launch.executable, errno: EAGAIN))
    }

    static func start(_ launch: Launch) throws(ChildProcessError) -> ChildProcess {
        let parent = ParentThread(launch)
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 128 << 10)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let reference = Unmanaged.passRetained(parent)
        let failure = pthread_create(
            &thread, &attributes,
            { raw in
                if let raw { Unmanaged<ParentThread>.fromOpaque(raw).takeRetainedValue().run() }
                return nil
            }, reference.toOpaque())
        guard failure == 0 else {
            reference.release()
            throw ChildProcessError(executable: launch.executable, errno: failure)
        }
        parent.started.wait()  // lasts only until the child has started, which the caller waits for anyway
        return try parent.result.get()
    }

    private func run() {
        do throws(ChildProcessError) {
            let child = ChildProcess(pid: try launch.spawn(), name: launch.executable)
            result = .success(child)
            started.signal()
            child.reap()
        } catch {
            result = .failure(error)
            started.signal()
        }
    }
}

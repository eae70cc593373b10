import Cspawn
import Glibc

/// The file actions and attributes of one `posix_spawnp` call.
struct Launch {
    private let actions: UnsafeMutablePointer<posix_spawn_file_actions_t>
    private let attributes: UnsafeMutablePointer<posix_spawnattr_t>

    init(workingDirectory: String?, output: ChildProcess.Output, descriptors: [Int32]) throws {
        actions = .allocate(capacity: 1)
        attributes = .allocate(capacity: 1)
        posix_spawn_file_actions_init(actions)
        posix_spawnattr_init(attributes)
        posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0)
        switch output {
        case .inherit: break
        case .discard: redirect(to: "/dev/null")
        case .file(let path): redirect(to: path)
        }
        // First out of the way, so that no move overwrites a descriptor that is still to be moved.
        let first: Int32 = 200
        for (index, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(actions, descriptor, first + Int32(index))
        }
        for index in descriptors.indices {
            posix_spawn_file_actions_adddup2(actions, first + Int32(index), 3 + Int32(index))
        }
        posix_spawn_file_actions_addclosefrom_np(actions, 3 + Int32(descriptors.count))
        if let workingDirectory {
            posix_spawn_file_actions_addchdir_np(actions, workingDirectory)
        }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(attributes, &none)
        posix_spawnattr_setsigdefault(attributes, &all)
        posix_spawnattr_setpgroup(attributes, 0)
        posix_spawnattr_setflags(
            attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    }

    private func redirect(to path: String) {
        posix_spawn_file_actions_addopen(actions, 1, path, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(actions, 1, 2)
    }

    func spawn(_ executable: String, _ arguments: [String], environment: [String: String]) throws -> pid_t {
        var pid = pid_t()
        let result = withCStrings([executable] + arguments) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                posix_spawnp(&pid, executable, actions, attributes, arguments, environment)
            }
        }
        guard result == 0 else { throw ChildProcessError(executable: executable, errno: result) }
        return pid
    }

    func destroy() {
        posix_spawn_file_actions_destroy(actions)
        posix_spawnattr_destroy(attributes)
        actions.deallocate()
        attributes.deallocate()
    }

    private func withCStrings<R>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        var pointers = strings.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("the array has at least its terminator") }
            return body(base)
        }
    }
}

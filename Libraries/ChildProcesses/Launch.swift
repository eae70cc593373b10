import Cspawn
import Glibc

/// The parameters for starting a child.
struct Launch: Sendable {
    let executable: String
    let arguments: [String]
    let environment: [String: String]
    let workingDirectory: String?
    let output: ChildProcess.Output
    let descriptors: [Int32]
    let account: ChildProcess.Account?
    let deathSignal: Int32
    var restrictions = ChildProcess.Restrictions()

    /// Starts the child. It gets `deathSignal` when the calling thread ends.
    func spawn() throws(ChildProcessError) -> pid_t {
        var pid = pid_t()
        let failure = withCStrings([executable] + arguments) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                withOptionalCString(workingDirectory) { directory in
                    withOptionalCString(outputFile) { output in
                        descriptors.withUnsafeBufferPointer { descriptors in
                            limits.withUnsafeBufferPointer { limits in
                                var request = cspawn_request(
                                    executable: arguments[0], arguments: arguments, environment: environment,
                                    directory: directory, output: output, output_descriptor: outputDescriptor,
                                    descriptors: descriptors.baseAddress,
                                    descriptor_count: Int32(descriptors.count), death_signal: deathSignal,
                                    changes_account: account == nil ? 0 : 1, user: account?.user ?? 0,
                                    group: account?.group ?? 0,
                                    forbids_new_privileges: restrictions.forbidsNewPrivileges ? 1 : 0,
                                    ends_first: restrictions.endsFirst ? 1 : 0,
                                    limits: limits.baseAddress, limit_count: Int32(limits.count))
                                return cspawn(&request, &pid)
                            }
                        }
                    }
                }
            }
        }
        guard failure == 0 else { throw ChildProcessError(executable: executable, errno: failure) }
        return pid
    }

    private var outputFile: String? {
        switch output {
        case .inherit, .descriptor: nil
        case .discard, .standardOutput: "/dev/null"
        case .file(let path): path
        }
    }

    private var outputDescriptor: Int32 {
        switch output {
        case .descriptor(let number), .standardOutput(let number): number
        case .inherit, .discard, .file: -1
        }
    }

    private var limits: [cspawn_limit] {
        restrictions.limits.map { cspawn_limit(resource: $0.key.number, most: rlim_t($0.value)) }
    }

    private func withOptionalCString<R>(_ string: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
        guard let string else { return body(nil) }
        return string.withCString { body($0) }
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

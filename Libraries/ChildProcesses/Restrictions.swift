import Glibc

extension ChildProcess {
    /// What a child may not do, nor any program that it becomes or starts. Nothing by default.
    public struct Restrictions: Sendable {
        /// A resource of which the kernel gives a process no more than a limit.
        public enum Resource: Hashable, Sendable {
            /// Descriptors that are open at a time.
            case descriptors
            /// Bytes of a file that is written; 0 keeps it from writing files at all. Pipes and sockets don't count.
            case fileSize
            /// Bytes of a memory image that is left behind after a crash.
            case coreSize
            /// Processes and threads of its account, of all that run as it.
            case processes
            /// Bytes of address space.
            case addressSpace
            /// Seconds of CPU time.
            case cpuTime

            var number: Int32 {
                switch self {
                case .descriptors: Int32(RLIMIT_NOFILE.rawValue)
                case .fileSize: Int32(RLIMIT_FSIZE.rawValue)
                case .coreSize: Int32(RLIMIT_CORE.rawValue)
                case .processes: Int32(__RLIMIT_NPROC.rawValue)
                case .addressSpace: Int32(RLIMIT_AS.rawValue)
                case .cpuTime: Int32(RLIMIT_CPU.rawValue)
                }
            }
        }

        /// Whether executing a program never gives it more rights: set-user-id bits and file capabilities don't count.
        public var forbidsNewPrivileges: Bool
        /// The most that it may have of a resource. No limit is raised beyond the parent's.
        public var limits: [Resource: UInt64]

        public init(forbidsNewPrivileges: Bool = false, limits: [Resource: UInt64] = [:]) {
            self.forbidsNewPrivileges = forbidsNewPrivileges
            self.limits = limits
        }
    }

    /// What any program may know of its parent's environment: where libraries and programs are, the time zone and the language. Nothing
    /// that grants access to something is among these.
    ///
    /// For children that handle what comes from outside: they have no use for the parent's passwords and keys.
    public static func plainEnvironment(of variables: [String: String] = CurrentEnvironment.variables) -> [String:
        String]
    {
        variables.filter { name, _ in
            ["PATH", "LD_LIBRARY_PATH", "TZ", "LANG"].contains(name) || name.hasPrefix("LC_")
        }
    }
}
